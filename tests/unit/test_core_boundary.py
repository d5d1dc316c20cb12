"""The border of the compiled core: whatever arrays come in, a ValueError goes out, never a crash or a hang.

Cases that once could end the process run in a process of their own.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treedgp import _core
from treedgp.model.spec import ModelSpec, Schedule

N, COLUMNS = 30, 3
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
Z = RNG.standard_normal(N)
LEVELS = RNG.integers(3, size=N)
CODES = np.column_stack([np.argsort(np.argsort(X, axis=0), axis=0), LEVELS]).astype(np.int32)


def arguments(**changed):
    spec = ModelSpec(schedule=Schedule(tune=20)).core_spec(2)
    base = {
        "spec": spec,
        "family": _core.Family.gaussian,
        "linear_mean": True,
        "min_leaf": 4,
        "x": X,
        "z": Z,
        "codes": CODES,
        "categorical": [False, False, True],
        "sizes": [N, N, 3],
    }
    return base | changed


PROBLEM = _core.Problem(**arguments())
(STATE,) = _core.start(PROBLEM, 3, 0, True)  # of the one layer
(DRAWS,) = _core.run(PROBLEM, [STATE], 3, 0, 0, 400)["draws"]
N_DRAWS = len(DRAWS["log_posterior"])
READ = [name for name in DRAWS if name != "log_posterior"]  # the core never reads that one back


def test_the_fixture_has_trees():
    assert N_DRAWS == 380
    assert (DRAWS["column"] >= 0).any()


# --- the problem ---


@pytest.mark.parametrize(
    "changed",
    [
        {"x": X[:-1]},
        {"x": X[:, 0].copy()},
        {"x": X[None]},
        {"z": Z[:-1]},
        {"z": Z[:, None]},
        {"codes": CODES[:-1]},
        {"codes": CODES[:, 0].copy()},
        {"codes": CODES - 1},
        {"codes": CODES + 1},
        {"codes": np.ascontiguousarray(CODES[:, :2])},
        {"categorical": [False, True]},
        {"categorical": []},
        {"sizes": [N, N]},
        {"sizes": [N, N, 2]},
        {"sizes": [N, N, -1]},
        {"sizes": [0, N, 3]},
        {"min_leaf": 0},
        {"min_leaf": -5},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_problem_checks_shapes_and_codes(changed):
    with pytest.raises(ValueError, match=r"problem: .+"):
        _core.Problem(**arguments(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"x": X.tolist()},
        {"x": None},
        {"z": Z.astype(object)},
        {"codes": CODES.astype(object)},
        {"family": "gaussian"},
        {"sizes": [N, N, 3.5]},
        {"sizes": [N, N, 2**40]},
        {"min_leaf": 2.5},
        {"spec": None},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_problem_takes_only_its_types(changed):
    with pytest.raises(TypeError):
        _core.Problem(**arguments(**changed))


@pytest.mark.parametrize("n_range", [-1, 3, 100])
def test_a_problem_checks_the_number_of_ranges(n_range):
    spec = arguments()["spec"]
    spec.leaf.n_range = n_range
    with pytest.raises(ValueError, match="n_range"):
        _core.Problem(**arguments(spec=spec))


def test_a_problem_copies_its_data():
    x, z = X.copy(), Z.copy()
    problem = _core.Problem(**arguments(x=x, z=z))
    before = _core.start(problem, 0, 0, False)[0]["log_posterior"][0]
    x[:], z[:] = np.nan, np.nan
    assert _core.start(problem, 0, 0, False)[0]["log_posterior"][0] == before


def test_flat_prior_wants_a_design_of_full_rank():
    spec = arguments()["spec"]
    spec.coefficients = _core.CoefficientKind.flat
    spec.leaf.tau2_random = False
    x = np.column_stack([X[:, 0], 1 - X[:, 0]])
    with pytest.raises(ValueError, match="full column rank"):
        _core.Problem(**arguments(spec=spec, x=x))


@pytest.mark.parametrize("weights", [[], [1.0], [0.2] * 7])
def test_the_schedule_wants_a_weight_for_each_move(weights):
    with pytest.raises(ValueError, match="weights"):
        _core.Spec().schedule.weights = weights


# --- draws and states: shapes, types, missing arrays ---


def moments(draws, begin=0, end=N_DRAWS, x=X, codes=CODES):
    return _core.moments(PROBLEM, draws, begin, end, x, codes)


def joint(draws, draw=0, x=X, codes=CODES):
    return _core.joint(PROBLEM, draws, draw, x, codes)


DAMAGE = {
    "missing": lambda a: None,
    "shorter": lambda a: a[:-1].copy(),
    "longer": lambda a: np.concatenate([a, a[-1:]]),
    "empty": lambda a: a[:0].copy(),
    "more axes": lambda a: a[None],
    "flat": lambda a: a.ravel().copy() if a.ndim > 1 else a.reshape(-1, 1),
    "other type": lambda a: a.astype(np.float32),
    "objects": lambda a: a.astype(object),
    "a list": lambda a: a.tolist(),
    "not contiguous": lambda a: (
        np.repeat(a, 2)[::2].reshape(a.shape) if a.ndim == 1 else np.repeat(a, 2, axis=1)[:, ::2]
    ),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", READ)
def test_damaged_draws_are_refused(name, damage):
    broken = dict(DRAWS)
    broken[name] = DAMAGE[damage](DRAWS[name])
    if damage == "missing":
        del broken[name]
    for call in (moments, joint):
        with pytest.raises(ValueError, match="draws: "):
            call(broken)


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("name", [*READ, "log_step"])
def test_damaged_states_are_refused(name, damage):
    broken = dict(STATE)
    broken[name] = DAMAGE[damage](STATE[name])
    if damage == "missing":
        del broken[name]
    with pytest.raises(ValueError, match=r"draws: |state: "):
        _core.run(PROBLEM, [broken], 3, 0, 0, 1)


@pytest.mark.parametrize(
    ("x", "codes"),
    [
        (X[:-1], CODES),
        (X, CODES[:-1]),
        (np.ascontiguousarray(X[:, :1]), CODES),
        (X[:, 0].copy(), CODES),
        (X, CODES[:, 0].copy()),
        (np.tile(X, 2), CODES),
    ],
)
def test_new_rows_have_the_shapes_of_the_problem(x, codes):
    for call in (moments, joint):
        with pytest.raises(ValueError, match="predict: "):
            call(DRAWS, x=x, codes=codes)


@pytest.mark.parametrize(("begin", "end"), [(-1, 5), (0, N_DRAWS + 1), (5, 4), (2**40, 2**40 + 1)])
def test_only_draws_that_exist_are_predicted_from(begin, end):
    with pytest.raises(ValueError, match="no such draws"):
        moments(DRAWS, begin, end)


@pytest.mark.parametrize("draw", [-1, N_DRAWS, 2**40])
def test_only_a_draw_that_exists_has_a_joint_law(draw):
    with pytest.raises(ValueError, match="no such draw"):
        joint(DRAWS, draw)


def test_a_state_is_one_draw():
    with pytest.raises(ValueError, match="one draw"):
        _core.run(PROBLEM, [dict(DRAWS) | {"log_step": np.zeros_like(STATE["log_step"])}], 3, 0, 0, 1)


@pytest.mark.parametrize("layers", [[], [STATE, STATE]])
def test_a_state_has_the_layers_of_its_problem(layers):
    with pytest.raises(ValueError, match="layers"):
        _core.run(PROBLEM, layers, 3, 0, 0, 1)


@pytest.mark.parametrize("layers", [STATE, [None], ["x"], [[STATE]]])
def test_a_state_is_a_list_of_dicts(layers):
    with pytest.raises((TypeError, RuntimeError)):
        _core.run(PROBLEM, layers, 3, 0, 0, 1)


@pytest.mark.parametrize("other", [np.empty((N, 0)), np.ascontiguousarray(X[:, :1]), RNG.uniform(size=(N, 5))])
def test_draws_of_another_model_are_refused(other):
    spec = ModelSpec().core_spec(other.shape[1])
    problem = _core.Problem(**arguments(spec=spec, x=other, linear_mean=other.shape[1] > 0))
    with pytest.raises(ValueError, match="draws: "):
        _core.moments(problem, DRAWS, 0, 1, other, CODES)


@pytest.mark.parametrize("arguments_", [(-1, 0), (2**64, 0), (0, -1), (0, 2**32), ("0", 0), (0.5, 0)])
def test_seed_and_chain_are_unsigned_integers(arguments_):
    with pytest.raises(TypeError):
        _core.start(PROBLEM, *arguments_, False)


# --- draws and states: wrong values ---

fuzzed = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
small = st.integers(-3, 35)
wild = st.integers(-(2**31), 2**31 - 1)


def answers_or_refuses(call):
    """Finite or not, an array of numbers; or an error of ours."""
    try:
        return call()
    except (ValueError, RuntimeError):
        return None


@fuzzed
@given(st.data())
def test_any_tree_of_integers_predicts_or_is_refused(data):
    """Nodes that are no preorder list, columns and cuts that do not exist."""
    draws = dict(DRAWS)
    for name in ("column", "cut"):
        values = DRAWS[name].copy()
        for _ in range(data.draw(st.integers(1, 4))):
            values[data.draw(st.integers(0, len(values) - 1))] = data.draw(small | wild)
        draws[name] = values
    answers_or_refuses(lambda: moments(draws))


@fuzzed
@given(st.lists(st.tuples(st.integers(-2, 3), small | wild), min_size=1, max_size=9), st.integers(0, 5))
def test_any_list_of_nodes_runs_or_is_refused(nodes, rounds):
    leaves = (len(nodes) + 1) // 2
    column, cut = np.array(nodes, dtype=np.int32).T
    state = {
        name: np.repeat(STATE[name][:1], leaves, axis=0) for name in ("range", "gp", "nugget", "sigma2", "tau2", "beta")
    }
    state |= {name: STATE[name] for name in ("beta0", "w_inv", "hyper", "log_step", "log_posterior")}
    state |= {"node_start": np.array([0, len(nodes)]), "column": column.copy(), "cut": cut.copy()}
    out = answers_or_refuses(lambda: _core.run(PROBLEM, [state], 1, 0, 100, 100 + rounds))
    if out is not None:  # a valid tree: what comes back is one too
        assert len(out["draws"][0]["log_posterior"]) == rounds
        assert np.isfinite(out["state"][0]["log_posterior"]).all()
        _core.run(PROBLEM, out["state"], 1, 0, 0, 0)


@fuzzed
@given(st.lists(st.integers(-5, 900) | st.integers(-(2**63), 2**63 - 1), min_size=0, max_size=6))
def test_any_node_start_is_refused(starts):
    draws = dict(DRAWS) | {"node_start": np.array(starts, dtype=np.int64)}
    with pytest.raises(ValueError, match="draws: "):
        moments(draws, 0, max(0, len(starts) - 1))


special = st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 5e-324, 1e-300])


@fuzzed
@given(st.sampled_from([n for n in READ if DRAWS[n].dtype == float]), special, st.integers(0, 2**31))
def test_any_number_in_the_draws_predicts_or_is_refused(name, value, seed):
    values = DRAWS[name].copy()
    at = np.random.default_rng(seed).integers(values.size, size=3)
    values.flat[at] = value
    answers_or_refuses(lambda: moments(dict(DRAWS) | {name: values}))


@fuzzed
@given(special | st.floats(-1e6, 1e6), st.integers(0, 2**31))
def test_any_number_in_the_new_rows_predicts_or_is_refused(value, seed):
    x = X.copy()
    x.flat[np.random.default_rng(seed).integers(x.size, size=3)] = value
    answers_or_refuses(lambda: moments(DRAWS, 0, 20, x=x))


@fuzzed
@given(small | wild, st.integers(0, 2**31))
def test_any_code_in_the_new_rows_is_routed(code, seed):
    codes = CODES.copy()
    codes.flat[np.random.default_rng(seed).integers(codes.size, size=3)] = code
    assert np.isfinite(moments(DRAWS, 0, 50, codes=codes)).all()


# --- settings that once crashed or hung, each in its own process ---

DANGEROUS = {
    "thin of 0": "spec.schedule.thin = 0; play(spec)",
    "negative thin": "spec.schedule.thin = -1; play(spec)",
    "negative tune": "spec.schedule.tune = -1; play(spec)",
    "a prior without components": "spec.leaf.range = _core.RangePrior([]); play(spec)",
    "a nugget prior without components": "spec.leaf.nugget = _core.ScalarPrior([]); play(spec)",
    "a spec nobody filled in": "play(_core.Spec())",
    "a deeper tree than a path can hold": "spec.split.max_depth = 1000; play(spec)",
    "a negative number of moves": "spec.schedule.tree_moves = -1; play(spec)",
    "moves without weight": "spec.schedule.weights = [0.0] * 6; play(spec)",
    "weights that are not numbers": "spec.schedule.weights = [float('nan')] * 6; play(spec)",
    "alpha above 1": "spec.split.alpha = 1.5; play(spec)",
    "a negative gamma shape": "spec.leaf.range = _core.RangePrior([(1.0, -1.0, 1.0)]); play(spec)",
    "a negative likeness of ranges": "spec.leaf.range = _core.RangePrior([(1.0, 1.0, 1.0)], -1.0); play(spec)",
    "ranges alike without end": "spec.leaf.range = _core.RangePrior([(1.0, 1.0, 1.0)], float('inf')); play(spec)",
    "alike atoms": "spec.leaf.range = _core.RangePrior([(1.0, 1.0, 0.0)], 2.0); play(spec)",
    "a gamma rate that is no number": "spec.leaf.range = _core.RangePrior([(1.0, 1.0, float('nan'))]); play(spec)",
    "an inverse gamma of shape 0": "spec.sigma2.a = -100.0; spec.sigma2.learn_a = False; play(spec)",
    "codes with a column too many": """
        draws = dict(DRAWS)
        draws["column"] = np.where(draws["column"] >= 0, 5, -1).astype(np.int32)
        _core.moments(PROBLEM, draws, 0, 100, X, np.tile(CODES, 4))""",
    "codes with a column too few": "_core.moments(PROBLEM, DRAWS, 0, 1, X, np.ascontiguousarray(CODES[:, :2]))",
    "hyperparameters that are not numbers": """
        state = dict(STATE) | {"hyper": np.full((1, 4), np.nan)}
        _core.run(PROBLEM, [state], 1, 0, 0, 100)""",
    "negative hyperparameters": """
        state = dict(STATE) | {"hyper": np.full((1, 4), -50.0)}
        _core.run(PROBLEM, [state], 1, 0, 0, 100)""",
}

SCRIPT = """
import json, os, signal, sys, textwrap
sys.path[:0] = {path!r}
import numpy as np
from unit.test_core_boundary import CODES, DANGEROUS, DRAWS, PROBLEM, STATE, X, _core, arguments

def play(spec):
    problem = _core.Problem(**arguments(spec=spec))
    _core.run(problem, _core.start(problem, 1, 0, True), 1, 0, 0, 100)

outcomes = {{}}
for name, code in DANGEROUS.items():
    child = os.fork()
    if child == 0:
        signal.alarm(5)  # ends the child, whatever it is doing
        try:
            exec(textwrap.dedent(code).strip(), globals() | {{"spec": arguments()["spec"]}})
        except (ValueError, RuntimeError):
            os._exit(0)
        except BaseException:
            os._exit(2)
        os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    words = {{0: "refused", 1: "accepted", 2: "another error", -signal.SIGALRM: "hung"}}
    outcomes[name] = words.get(code, f"crashed ({{code}})")
print(json.dumps(outcomes))
"""


@pytest.fixture(scope="module")
def outcomes():
    """What became of each dangerous setting."""
    script = SCRIPT.format(path=sys.path)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each setting is tried in a forked process")
@pytest.mark.parametrize("name", DANGEROUS)
def test_an_impossible_setting_is_refused(name, outcomes):
    assert outcomes[name] == "refused"
