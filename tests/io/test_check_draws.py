"""Draws read from a file are checked before the core sees them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treedgp import FormatError, _core
from treedgp.model.spec import STEPS, ModelSpec, Schedule
from treedgp.posterior.check import DEPTH_LIMIT, check_draws, check_state

N, SIZES, CATEGORICAL = 40, [40, 40, 3], [False, False, True]
RNG = np.random.default_rng(0)
X = RNG.uniform(size=(N, 2))
LEVELS = RNG.integers(3, size=N)
Z = X[:, 0] * (LEVELS == 1) + 0.1 * RNG.standard_normal(N)
CODES = np.column_stack([np.argsort(np.argsort(X, axis=0), axis=0), LEVELS]).astype(np.int32)


def problem_of(**settings):
    model = ModelSpec(schedule=Schedule(tune=20), **settings)
    problem = _core.Problem(
        spec=model.core_spec(2),
        family=_core.Family.gaussian,
        linear_mean=model.linear_mean(2),
        min_leaf=4,
        x=X,
        z=Z - Z.mean(),
        codes=CODES,
        categorical=CATEGORICAL,
        sizes=SIZES,
    )
    return problem, model.n_ranges(2), model.n_coefficients(2)


PROBLEM, N_RANGE, M = problem_of()
(STATE,) = _core.start(PROBLEM, 3, 0, True)  # of the one layer
(DRAWS,) = _core.run(PROBLEM, [STATE], 3, 0, 0, 320)["draws"]
D = len(DRAWS["log_posterior"])


def check(n_draws=D, n_range=N_RANGE, m=M, sizes=SIZES, categorical=CATEGORICAL, **changed):
    arrays = {name: values for name, values in (DRAWS | changed).items() if values is not None}
    check_draws(arrays, n_range, m, sizes, n_draws, categorical)


def with_value(name, index, value):
    values = DRAWS[name].copy()
    values[index] = value
    return {name: values}


@pytest.mark.parametrize("leaf", ["gp", "linear", "constant"])
@pytest.mark.parametrize("tree", [True, False])
def test_draws_and_states_of_the_sampler_pass(leaf, tree):
    problem, n_range, m = problem_of(leaf=leaf, tree=tree)
    state = _core.start(problem, 1, 0, False)
    check_state(state[0], n_range, m, SIZES, CATEGORICAL)
    out = _core.run(problem, state, 1, 0, 0, 120)
    check_draws(out["draws"][0], n_range, m, SIZES, 100, CATEGORICAL)
    check_state(out["state"][0], n_range, m, SIZES, CATEGORICAL)
    none = _core.run(problem, state, 1, 0, 0, 10)["draws"][0]  # still tuning
    check_draws(none, n_range, m, SIZES, 0, CATEGORICAL)


def test_the_fixture_has_trees_of_both_kinds_of_split():
    check()
    assert {0, 2} <= set(DRAWS["column"].tolist())
    assert np.diff(DRAWS["node_start"]).max() > 3


@pytest.mark.parametrize("name", sorted(DRAWS))
@pytest.mark.parametrize(
    "damage",
    [
        lambda a: None,
        lambda a: a[:-1],
        lambda a: np.concatenate([a, a[-1:]]),
        lambda a: a[None],
        lambda a: a.astype(np.float32),
        lambda a: a.astype(object),
    ],
    ids=["missing", "shorter", "longer", "more axes", "other type", "objects"],
)
def test_shapes_and_types_are_checked(name, damage):
    with pytest.raises(FormatError, match="draws: "):
        check(**{name: damage(DRAWS[name])})


@pytest.mark.parametrize(
    "other", [{"n_draws": D - 1}, {"n_draws": D + 1}, {"n_draws": 0}, {"n_range": 1}, {"m": 2}, {"m": 4}]
)
def test_draws_of_another_model_are_refused(other):
    with pytest.raises(FormatError, match="draws: "):
        check(**other)


@pytest.mark.parametrize(
    "name", ["range", "sigma2", "tau2", "hyper", "nugget", "w_inv", "beta", "beta0", "log_posterior"]
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_must_be_finite(name, value):
    with pytest.raises(FormatError, match=f"'{name}' must be finite"):
        check(**with_value(name, -1, value))


@pytest.mark.parametrize("name", ["range", "sigma2", "tau2", "hyper"])
@pytest.mark.parametrize("value", [0.0, -1.0])
def test_scales_must_be_positive(name, value):
    with pytest.raises(FormatError, match=f"'{name}' must be positive"):
        check(**with_value(name, 0, value))


def test_a_nugget_may_be_0_but_not_less():
    check(**with_value("nugget", 0, 0.0))
    with pytest.raises(FormatError, match="'nugget' must not be negative"):
        check(**with_value("nugget", 0, -1e-300))


def test_booleans_are_0_or_1():
    with pytest.raises(FormatError, match="'gp' must be 0 or 1"):
        check(**with_value("gp", (0, 0), 2))


@pytest.mark.parametrize("entry", range(M * (M + 1) // 2))
def test_w_inv_has_a_positive_diagonal(entry):
    row, column = np.tril_indices(M)
    by_column = sorted(zip(column, row, strict=True))  # the lower triangle, column after column
    changed = with_value("w_inv", (5, entry), -0.5)
    if by_column[entry][0] != by_column[entry][1]:
        return check(**changed)
    with pytest.raises(FormatError, match="positive diagonal"):
        check(**changed)


@pytest.mark.parametrize(
    "values",
    [
        np.arange(D + 1) * 2,
        DRAWS["node_start"] + 1,
        DRAWS["node_start"][::-1].copy(),
        np.full(D + 1, -(2**63)),
        np.r_[0, np.full(D, 2**63 - 1)],
        np.r_[DRAWS["node_start"][:-1], DRAWS["node_start"][-1] + 2],
        np.zeros(D + 1, dtype=np.int64),
    ],
    ids=range(7),
)
def test_node_start_rises_by_odd_numbers(values):
    with pytest.raises(FormatError, match="node_start must rise"):
        check(node_start=values.astype(np.int64))


def first(column):
    return int(np.flatnonzero(DRAWS["column"] == column)[0])


@pytest.mark.parametrize(
    ("name", "node", "value", "match"),
    [
        ("column", 0, 3, r"must lie in -1 \.\. 2"),
        ("column", 0, -2, r"must lie in -1 \.\. 2"),
        ("column", 0, 2**31 - 1, r"must lie in -1 \.\. 2"),
        ("cut", first(-1), 0, "must be -1 in a leaf"),
        ("cut", first(0), 40, "one of its column's cuts"),
        ("cut", first(0), 39, "one of its column's cuts"),
        ("cut", first(2), 3, "one of its column's cuts"),
        ("cut", first(0), -1, "one of its column's cuts"),
    ],
)
def test_rules_exist(name, node, value, match):
    with pytest.raises(FormatError, match=match):
        check(**with_value(name, node, value))


def test_the_last_cut_of_each_column_exists():
    check(**with_value("cut", first(0), 38))
    check(**with_value("cut", first(2), 2))
    check(categorical=None, **with_value("cut", first(0), 39))


def test_without_split_columns_there_are_only_leaves():
    with pytest.raises(FormatError, match=r"must lie in -1 \.\. -1"):
        check(sizes=[], categorical=[])


def trees(*nodes):
    """Draws with these trees: 1 is a node that divides, 0 is a leaf."""
    count, flat = len(nodes), [n for tree in nodes for n in tree]
    leaves = (len(flat) + count) // 2
    column = np.where(flat, 0, -1).astype(np.int32)
    out = {
        name: np.repeat(DRAWS[name][:1], leaves, axis=0) for name in ("range", "gp", "nugget", "sigma2", "tau2", "beta")
    }
    out |= {name: np.repeat(DRAWS[name][:1], count, axis=0) for name in ("beta0", "w_inv", "hyper", "log_posterior")}
    start = np.cumsum([0, *map(len, nodes)]).astype(np.int64)
    return out | {"node_start": start, "column": column, "cut": column}


@pytest.mark.parametrize("shape", [[0], [1, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 1, 0, 0, 1, 0, 0]])
def test_preorder_lists_pass(shape):
    check_draws(trees([0], shape, [1, 0, 0]), N_RANGE, M, SIZES, 3)


@pytest.mark.parametrize("shape", [[1], [0, 0, 0], [0, 1, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1, 0, 0], [1, 0, 0, 0, 1]])
def test_other_lists_are_refused(shape):
    with pytest.raises(FormatError, match="not a preorder list"):
        check_draws(trees([0], shape, [1, 0, 0]), N_RANGE, M, SIZES, 3)


def test_two_wrong_trees_do_not_make_a_right_one():
    with pytest.raises(FormatError, match="not a preorder list"):
        check_draws(trees([1, 1, 0], [0, 0, 0]), N_RANGE, M, SIZES, 2)


def is_tree(nodes):
    """By recursion: consumes a subtree, or fails."""

    def after(at):
        if at >= len(nodes):
            raise IndexError
        return after(after(at + 1)) if nodes[at] else at + 1

    try:
        return after(0) == len(nodes)
    except IndexError:
        return False


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=9).filter(lambda nodes: len(nodes) % 2))
def test_a_list_passes_if_and_only_if_it_is_a_tree(nodes):
    if is_tree(nodes):
        check_draws(trees([1, 0, 0], nodes), N_RANGE, M, SIZES, 2)
    else:
        with pytest.raises(FormatError, match="preorder"):
            check_draws(trees([1, 0, 0], nodes), N_RANGE, M, SIZES, 2)


@pytest.mark.parametrize(
    "chain", [lambda d: [1] * d + [0] * (d + 1), lambda d: [1, 0] * d + [0]], ids=["left", "right"]
)
def test_trees_are_as_deep_as_the_core_allows(chain):
    check_draws(trees(chain(DEPTH_LIMIT)), N_RANGE, M, SIZES, 1)
    for depth in (DEPTH_LIMIT + 1, 5000):
        with pytest.raises(FormatError, match="deeper than 60"):
            check_draws(trees(chain(depth)), N_RANGE, M, SIZES, 1)


def test_what_passes_the_core_can_route():
    draws = trees([1] * DEPTH_LIMIT + [0] * (DEPTH_LIMIT + 1))
    draws["cut"] = np.where(draws["column"] >= 0, 5, -1).astype(np.int32)
    check_draws(draws, N_RANGE, M, SIZES, 1, CATEGORICAL)
    deep = trees([1] * (DEPTH_LIMIT + 1) + [0] * (DEPTH_LIMIT + 2))
    with pytest.raises(ValueError, match="preorder"):  # the core has the same limit
        _core.moments(PROBLEM, deep, 0, 1, X, CODES)


@pytest.mark.parametrize(
    "changed",
    [
        {"log_step": None},
        {"log_step": np.zeros(len(STEPS) - 1)},
        {"log_step": np.full(len(STEPS), np.nan)},
        {"sigma2": -STATE["sigma2"]},
    ],
)
def test_a_state_is_one_draw_with_its_steps(changed):
    arrays = {name: values for name, values in (STATE | changed).items() if values is not None}
    with pytest.raises(FormatError, match="draws: "):
        check_state(arrays, N_RANGE, M, SIZES, CATEGORICAL)
    with pytest.raises(FormatError, match="draws: "):
        check_state(DRAWS | {"log_step": STATE["log_step"]}, N_RANGE, M, SIZES, CATEGORICAL)
