"""Classifiers too: the same random_state gives the same draws, bit for bit, however the work is cut."""

import copy
import io
import json
import os
import pickle
import subprocess
import sys
from itertools import pairwise

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict

from treedgp import TreedGPClassifier
from treedgp.posterior.draws import Draws, concatenate
from treedgp.sampling.chain import advance, start_chain
from treedgp.sampling.run import Run, run_chains

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

VARIANTS = {
    "per_class": {},
    "shared": {"tree_sharing": "shared", "kernel": "matern32", "isotropic": True},
    "metropolis": {"latent_sampler": "metropolis", "latent_block_size": 7, "limiting_linear": False},
    "shared metropolis": {"tree_sharing": "shared", "latent_sampler": "metropolis"},
    "constant": {"leaf": "constant"},
    "two classes": {},
}
TUNE, DRAWS, THIN = 40, 30, 2


def data(name="per_class"):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(50, 2)), np.arange(50) % 3])
    height = np.where(X[:, 0] > 0.5, 2, 0) + np.sin(6 * X[:, 1]) + X[:, 2]
    return X, np.digitize(height, [1.5] if name == "two classes" else [1.0, 2.5])


def model(name="per_class", **settings):
    base = {"chains": 2, "draws": DRAWS, "tune": TUNE, "thin": THIN, "random_state": 7, "categorical_features": [2]}
    return TreedGPClassifier(**base | VARIANTS[name] | settings)


def assert_same(a, b):
    """Lists of layers with equal arrays of equal types."""
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        assert one.keys() == other.keys()
        for name in one:
            assert one[name].dtype == other[name].dtype, name
            assert one[name].tobytes() == other[name].tobytes(), name


def arrays(m):
    return [layer.arrays for layer in m.posterior_.layers]


@pytest.fixture(scope="module", params=VARIANTS)
def reference(request):
    return request.param, model(request.param).fit(*data(request.param))


def answers(m, X):
    asks = ["predict", "predict_proba", "vote_proba"]
    if m.leaf == "gp":
        asks += ["latent_mean_and_variance", "sample_posterior"]
    return {ask: np.asarray(getattr(m, ask)(X)).tobytes() for ask in asks}


def test_a_second_fit_repeats_the_first(reference):
    name, first = reference
    second = clone(first).fit(*data(name))
    assert_same(arrays(second), arrays(first))
    assert np.array_equal(second.posterior_.counts, first.posterior_.counts)
    assert answers(second, data(name)[0][:6]) == answers(first, data(name)[0][:6])


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_threads_do_not_show(reference, n_jobs):
    name, first = reference
    fitted = model(name, n_jobs=n_jobs).fit(*data(name))
    assert_same(arrays(fitted), arrays(first))
    assert answers(fitted, data(name)[0][:6]) == answers(first, data(name)[0][:6])


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_another_backend_does_not_show(reference, backend):
    name, first = reference
    with joblib.parallel_config(backend, n_jobs=2 if backend != "sequential" else 1):
        assert_same(arrays(model(name).fit(*data(name))), arrays(first))


def test_folds_in_other_processes_give_the_same_probabilities():
    X, y = data()
    here = cross_val_predict(model(), X, y, cv=2, method="predict_proba")
    there = cross_val_predict(model(), X, y, cv=2, method="predict_proba", n_jobs=2)
    assert here.tobytes() == there.tobytes()


@pytest.mark.parametrize("chunk_seconds", [1e-9, 1e9])
def test_the_length_of_a_chunk_does_not_show(reference, chunk_seconds):
    _, first = reference
    problem, seed = first.posterior_.problem, first._session.seed
    run = Run.start(problem, [start_chain(problem, seed, i) for i in range(2)])
    run_chains(problem, run, tune=TUNE, rounds=TUNE + DRAWS * THIN, n_jobs=2, chunk_seconds=chunk_seconds)
    assert_same([layer.arrays for layer in Draws.join(run.draws)], arrays(first))
    assert np.array_equal(run.counts, first.posterior_.counts)
    assert run.failed_factorisations == first.posterior_.failed_factorisations


@pytest.mark.parametrize("seed", range(3))
def test_the_core_may_be_cut_anywhere(reference, seed):
    """Cuts inside tuning, at its end, between kept rounds, and chunks of no rounds at all."""
    _, first = reference
    problem, end = first.posterior_.problem, TUNE + DRAWS * THIN
    rng = np.random.default_rng(seed)
    cuts = sorted([0, end, TUNE, TUNE, *rng.integers(0, end, size=rng.integers(1, 9))])
    whole = advance(problem, start_chain(problem, 11, 1), end)
    chain, chunks = start_chain(problem, 11, 1), []
    for _, cut in pairwise(cuts):
        chunks.append(advance(problem, chain, int(cut)))
        chain = chunks[-1].chain
    assert_same(chain.state, whole.chain.state)
    joined = [concatenate(list(layer)) for layer in zip(*(c.draws for c in chunks), strict=True)]
    assert_same(joined, [{name: layer[name] for name in joined[0]} for layer in whole.draws])
    assert np.array_equal(sum(c.counts for c in chunks), whole.counts)


def test_running_does_not_change_its_inputs(reference):
    _, first = reference
    problem = first.posterior_.problem
    chain = start_chain(problem, 1, 0)
    before = copy.deepcopy(chain.state)
    advance(problem, chain, 30)
    assert_same(chain.state, before)


def test_chains_differ_from_each_other_and_between_seeds(reference):
    name, first = reference
    if name == "constant":
        pytest.skip("equal trees have equal log posteriors")
    other = model(name, random_state=8).fit(*data(name))
    traces = [*first.posterior_.log_posterior, *other.posterior_.log_posterior]
    for i, a in enumerate(traces):
        for b in traces[i + 1 :]:
            assert not np.isin(a, b).any()


def test_a_chain_does_not_depend_on_how_many_there_are(reference):
    name, first = reference
    three = model(name, chains=3).fit(*data(name)).posterior_
    assert three.log_posterior[:2].tobytes() == first.posterior_.log_posterior.tobytes()


def test_more_draws_begin_with_the_same_draws(reference):
    name, first = reference
    longer = model(name, draws=DRAWS + 15).fit(*data(name)).posterior_
    assert longer.log_posterior[:, :DRAWS].tobytes() == first.posterior_.log_posterior.tobytes()


def through_joblib(m):
    buffer = io.BytesIO()
    joblib.dump(m, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


@pytest.mark.parametrize(
    "copied",
    [
        lambda m: pickle.loads(pickle.dumps(m)),
        lambda m: pickle.loads(pickle.dumps(m, protocol=2)),
        copy.copy,
        copy.deepcopy,
        through_joblib,
    ],
    ids=["pickle", "pickle 2", "copy", "deepcopy", "joblib"],
)
def test_a_copy_of_a_fit_is_the_same(reference, copied):
    name, first = reference
    second = copied(first)
    assert_same(arrays(second), arrays(first))
    assert answers(second, data(name)[0][:6]) == answers(first, data(name)[0][:6])
    assert second.posterior_.summary().equals(first.posterior_.summary())
    assert_same(arrays(second.extend(5)), arrays(model(name, draws=DRAWS + 5).fit(*data(name))))
    assert first.posterior_.layers[0].n_draws == DRAWS


# --- instruction sets ---

ISA_SCRIPT = """
import json, sys, warnings
sys.path[:0] = {path!r}
warnings.simplefilter("ignore")
from treedgp import _core
from reproducibility.test_classifier_bits import VARIANTS, data, model
out = {{"isa": _core.isa()}}
for name in VARIANTS:
    m = model(name, tune=0, draws=2, thin=1).fit(*data(name))
    out[name] = [m.posterior_.log_posterior.tolist(), m.predict_proba(data(name)[0][:5]).tolist()]
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


@pytest.mark.parametrize("isa", ["avx512", "avx512vl", "avx2", "baseline"])
def test_instruction_sets_agree(isa, on_scalar):
    done = run_on(isa)
    if "expected one of" in done.stderr and isa not in done.stderr.split("expected one of")[1].split("got")[0]:
        pytest.skip(f"this machine has no {isa}")
    assert done.returncode == 0, done.stderr[-2000:]
    out = json.loads(done.stdout)
    assert out["isa"] == isa
    for name in VARIANTS:
        for ours, scalar in zip(out[name], on_scalar[name], strict=True):
            assert np.array(ours) == pytest.approx(np.array(scalar), rel=1e-6), name
