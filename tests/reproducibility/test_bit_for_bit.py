"""The same random_state gives the same draws, bit for bit, however the work is cut and whoever does it."""

import copy
import io
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from itertools import pairwise

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from treedgp import CoefficientPrior, Priors, TreedGPRegressor, _core
from treedgp.posterior.draws import Draws, concatenate
from treedgp.sampling.chain import advance, start_chain
from treedgp.sampling.run import Run, run_chains

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

VARIANTS = {
    "btgpllm": {},
    "btgp matern isotropic": {"kernel": "matern32", "isotropic": True, "limiting_linear": False},
    "btlm flat": {"leaf": "linear", "priors": Priors(coefficients=CoefficientPrior(kind="flat"))},
    "bcart": {"leaf": "constant"},
    "categorical": {"categorical_features": [2]},
}
TUNE, DRAWS, THIN = 60, 40, 2


def data():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(50, 2)), np.arange(50) % 3])
    return X, np.where(X[:, 0] > 0.5, 2, 0) + np.sin(6 * X[:, 1]) + X[:, 2] + 0.1 * rng.standard_normal(50)


def model(name="btgpllm", **settings):
    base = {"chains": 3, "draws": DRAWS, "tune": TUNE, "thin": THIN, "random_state": 7}
    return TreedGPRegressor(**base | VARIANTS[name] | settings)


def assert_same(a, b):
    """Equal arrays of equal types, NaN nowhere."""
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        assert a[name].tobytes() == b[name].tobytes(), name


@pytest.fixture(scope="module", params=VARIANTS)
def reference(request):
    return request.param, model(request.param).fit(*data())


def test_a_second_fit_repeats_the_first(reference):
    _, first = reference
    second = clone(first).fit(*data())
    assert_same(second.posterior_.draws.arrays, first.posterior_.draws.arrays)
    assert np.array_equal(second.posterior_.counts, first.posterior_.counts)
    assert second.predict(data()[0]).tobytes() == first.predict(data()[0]).tobytes()


@pytest.mark.parametrize("n_jobs", [1, 2, 3, -1])
def test_threads_do_not_show(reference, n_jobs):
    name, first = reference
    fitted = model(name, n_jobs=n_jobs).fit(*data())
    assert_same(fitted.posterior_.draws.arrays, first.posterior_.draws.arrays)
    X = data()[0][:6]
    for ask in ("predict", "predict_interval", "sample_posterior", "sample_y"):
        assert getattr(fitted, ask)(X).tobytes() == getattr(first, ask)(X).tobytes(), ask


def test_another_backend_does_not_show(reference):
    name, first = reference
    with joblib.parallel_config("sequential"):
        assert_same(model(name).fit(*data()).posterior_.draws.arrays, first.posterior_.draws.arrays)


@pytest.mark.parametrize("chunk_seconds", [1e-9, 1e-3, 1e9])
def test_the_length_of_a_chunk_does_not_show(reference, chunk_seconds):
    _, first = reference
    problem, seed = first.posterior_.predictor.problem, first._session.seed
    run = Run.start(problem, [start_chain(problem, seed, i) for i in range(3)])
    run_chains(problem, run, tune=TUNE, rounds=TUNE + DRAWS * THIN, n_jobs=2, chunk_seconds=chunk_seconds)
    assert_same(Draws.join(run.draws)[0].arrays, first.posterior_.draws.arrays)
    assert np.array_equal(run.counts, first.posterior_.counts)
    assert run.failed_factorisations == first.posterior_.failed_factorisations


@pytest.mark.parametrize("seed", range(4))
def test_the_core_may_be_cut_anywhere(reference, seed):
    """Cuts inside tuning, at its end, between kept rounds, and chunks of no rounds at all."""
    _, first = reference
    problem, end = first.posterior_.predictor.problem, TUNE + DRAWS * THIN
    rng = np.random.default_rng(seed)
    cuts = sorted([0, end, TUNE, TUNE, *rng.integers(0, end, size=rng.integers(1, 9))])
    whole = advance(problem, start_chain(problem, 11, 1), end)
    chain, chunks = start_chain(problem, 11, 1), []
    for _, cut in pairwise(cuts):
        chunks.append(advance(problem, chain, int(cut)))
        chain = chunks[-1].chain
    assert_same(*chain.state, *whole.chain.state)
    assert_same(concatenate([c.draws[0] for c in chunks]), {k: v for k, v in whole.draws[0].items() if k != "log_step"})
    assert np.array_equal(sum(c.counts for c in chunks), whole.counts)


def test_running_does_not_change_its_inputs(reference):
    _, first = reference
    problem = first.posterior_.predictor.problem
    chain = start_chain(problem, 1, 0)
    before = copy.deepcopy(chain.state)
    advance(problem, chain, 30)
    assert_same(*chain.state, *before)


def test_chains_differ_from_each_other_and_between_seeds(reference):
    name, first = reference
    traces = [*first.posterior_.log_posterior, *model(name, random_state=8).fit(*data()).posterior_.log_posterior]
    for i, a in enumerate(traces):
        for b in traces[i + 1 :]:
            assert not np.isin(a, b).any()


def test_a_chain_does_not_depend_on_how_many_there_are(reference):
    name, first = reference
    two = model(name, chains=2).fit(*data()).posterior_
    assert two.log_posterior.tobytes() == first.posterior_.log_posterior[:2].tobytes()


def test_more_draws_begin_with_the_same_draws(reference):
    name, first = reference
    longer = model(name, draws=DRAWS + 25).fit(*data()).posterior_
    assert longer.log_posterior[:, :DRAWS].tobytes() == first.posterior_.log_posterior.tobytes()


@pytest.mark.parametrize(
    "copied",
    [
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: pickle.loads(pickle.dumps(m, protocol=2)),
        copy.copy,
        copy.deepcopy,
    ],
    ids=["pickle", "pickle 2", "copy", "deepcopy"],
)
def test_a_copy_of_a_fit_predicts_the_same(reference, copied):
    _, first = reference
    X = data()[0][:6]
    second = copied(first)
    assert_same(second.posterior_.draws.arrays, first.posterior_.draws.arrays)
    for ask in ("predict", "predict_interval", "sample_posterior", "sample_y"):
        assert getattr(second, ask)(X).tobytes() == getattr(first, ask)(X).tobytes(), ask
    assert second.posterior_.summary().equals(first.posterior_.summary())


def test_joblib_keeps_a_fit(reference):
    _, first = reference
    buffer = io.BytesIO()
    joblib.dump(first, buffer)
    buffer.seek(0)
    X = data()[0]
    assert joblib.load(buffer).predict(X).tobytes() == first.predict(X).tobytes()


@pytest.mark.parametrize(
    "random_state", [lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3), lambda: np.int64(3)]
)
def test_any_kind_of_random_state_fixes_the_draws(random_state):
    a, b = (model(random_state=random_state()).fit(*data()) for _ in range(2))
    assert_same(a.posterior_.draws.arrays, b.posterior_.draws.arrays)


def test_without_a_random_state_fits_differ():
    a, b = (model(random_state=None).fit(*data()) for _ in range(2))
    assert not np.array_equal(a.posterior_.log_posterior, b.posterior_.log_posterior)


def test_a_fit_leaves_the_global_generator_alone():
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    model().fit(*data()).sample_y(data()[0])
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# --- instruction sets ---

ISA_SCRIPT = """
import json, sys
sys.path[:0] = {path!r}
import warnings
import numpy as np
warnings.simplefilter("ignore")
from treedgp import _core
from reproducibility.test_bit_for_bit import VARIANTS, data, model
out = {{"isa": _core.isa()}}
for name in VARIANTS:
    if name != "bcart":
        out[name] = model(name, tune=0, draws=2, thin=1).fit(*data()).posterior_.log_posterior.tolist()
fitted = model(chains=2, draws=400, tune=400).fit(*data())
out["means"] = fitted.predict(data()[0]).tolist()
out["spread"] = float(fitted.predict(data()[0], return_std=True)[1].mean())
print(json.dumps(out))
"""


def run_on(isa):
    env = os.environ | {"TREEDGP_ISA": isa}
    script = ISA_SCRIPT.format(path=sys.path)
    return subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def on_scalar():
    done = run_on("scalar")
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_the_set_that_files_name_gives_the_draws_of_the_free_choice():
    free = run_on("")
    assert free.returncode == 0, free.stderr[-2000:]
    assert run_on(json.loads(free.stdout)["isa"]).stdout == free.stdout


@pytest.mark.parametrize("isa", ["avx512", "avx512vl", "avx2", "baseline"])
def test_instruction_sets_agree(isa, on_scalar):
    done = run_on(isa)
    if "expected one of" in done.stderr and isa not in done.stderr.split("expected one of")[1].split("got")[0]:
        pytest.skip(f"this machine has no {isa}")
    assert done.returncode == 0, done.stderr[-2000:]
    out = json.loads(done.stdout)
    assert out["isa"] == isa
    for name in VARIANTS:
        if name != "bcart":
            assert np.array(out[name]) == pytest.approx(np.array(on_scalar[name]), rel=1e-8), name
    difference = np.abs(np.array(out["means"]) - on_scalar["means"])
    assert difference.max() < 0.5 * on_scalar["spread"]  # another run once rounding has changed a decision


def test_an_unknown_instruction_set_is_refused():
    done = run_on("sse9")
    assert done.returncode != 0
    assert "TREEDGP_ISA: expected one of" in done.stderr
    assert "got 'sse9'" in done.stderr


def test_the_instruction_set_in_use_is_known():
    assert _core.isa() in ("avx512", "avx512vl", "avx2", "baseline", "scalar")


# --- Ctrl-C ---

INTERRUPT_SCRIPT = """
import sys
sys.path[:0] = {path!r}
import warnings
import numpy as np
warnings.simplefilter("ignore")
from treedgp.estimators import session
from reproducibility.test_bit_for_bit import data, model

class Announce(session.Progress):
    def report(self, run):
        super().report(run)
        if run.round > {after}:
            print("go", flush=True)

session.Progress = Announce
fitted = model(chains=3, draws={draws}, tune={tune}, thin=2, n_jobs={n_jobs})
try:
    fitted.fit(*data())
except KeyboardInterrupt:
    print("interrupted", flush=True)
if not hasattr(fitted, "posterior_"):
    print("no posterior")
else:
    n_leaves = fitted.posterior_.n_leaves
    mean = fitted.predict(data()[0])
    same = model(chains=3, draws=n_leaves.shape[1], tune={tune}, thin=2).fit(*data()) if {tune} < 1000 else fitted
    print("posterior", *n_leaves.shape, np.isfinite(mean).all(), np.array_equal(mean, same.predict(data()[0])))
"""


def interrupt(after, draws, tune, n_jobs):
    """Output of a fit that gets SIGINT once it has made more than `after` rounds."""
    script = INTERRUPT_SCRIPT.format(path=sys.path, after=after, draws=draws, tune=tune, n_jobs=n_jobs)
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as job:
        try:
            line = job.stdout.readline()
            while line and line.strip() != "go":
                line = job.stdout.readline()
            assert line, job.stderr.read()[-2000:]
            time.sleep(0.05)
            job.send_signal(signal.SIGINT)
            out, err = job.communicate(timeout=60)
        finally:
            job.kill()
    assert job.returncode == 0, err[-2000:]
    return [line for line in out.splitlines() if line != "go"]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to a child on Windows")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_while_tuning_leaves_nothing(n_jobs):
    assert interrupt(after=0, draws=10, tune=10**8, n_jobs=n_jobs) == ["interrupted", "no posterior"]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to a child on Windows")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_while_drawing_keeps_the_draws_so_far(n_jobs):
    """Chains of common length that predict, and they are the first draws of the uninterrupted run."""
    interrupted, rest = interrupt(after=120, draws=10**8, tune=100, n_jobs=n_jobs)
    assert interrupted == "interrupted"
    word, chains, draws, finite, same = rest.split()
    assert (word, chains, finite, same) == ("posterior", "3", "True", "True")
    assert int(draws) >= 1
