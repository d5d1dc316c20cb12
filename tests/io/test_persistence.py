"""Saved models and checkpoints: the same predictions, the same draws, whatever happens in between."""

import copy
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from file_damage import check_flips
from sklearn.exceptions import NotFittedError

import treedgp
from treedgp import ConfigError, FormatError, TreedGPRegressor
from treedgp.estimators import persistence, session
from treedgp.posterior import io

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

OLD_FILE = Path(__file__).parent / "fixtures" / "regressor-schema-1.npz"


def frame(n=60):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"speed": rng.random(n), "load": 100 * rng.random(n), "kind": rng.choice(["u", "v", "w"], n)})
    return X, np.sin(6 * X["speed"]) + (X["kind"] == "u") + 0.1 * rng.normal(size=n)


def model(draws=30, **settings):
    return TreedGPRegressor(draws=draws, **{"tune": 60, "chains": 2, "random_state": 3, "thin": 2, **settings})


def assert_same_draws(a, b):
    ours, theirs = a.posterior_.draws, b.posterior_.draws
    assert ours.n_chains == theirs.n_chains
    for name, values in ours.arrays.items():
        np.testing.assert_array_equal(values, theirs.arrays[name], err_msg=name)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(*frame())


def test_load_gives_the_same_model(fitted, tmp_path):
    fitted.save(tmp_path / "model.npz")
    loaded = treedgp.load(tmp_path / "model.npz")
    X, _ = frame()
    assert_same_draws(fitted, loaded)
    np.testing.assert_array_equal(fitted.predict(X, return_std=True), loaded.predict(X, return_std=True))
    np.testing.assert_array_equal(fitted.sample_posterior(X), loaded.sample_posterior(X))
    assert loaded.get_params() == fitted.get_params()
    assert loaded.priors_ == fitted.priors_
    assert list(loaded.feature_names_in_) == ["speed", "load", "kind"]
    pd.testing.assert_frame_equal(loaded.posterior_.acceptance(), fitted.posterior_.acceptance())
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(X[["kind", "load", "speed"]])


def test_load_in_another_process_predicts_bit_for_bit(fitted, tmp_path):
    fitted.save(tmp_path / "model.npz")
    X, _ = frame()
    X.to_pickle(tmp_path / "X.pkl")
    script = (
        "import sys, numpy, pandas, treedgp\n"
        "path = sys.argv[1]\n"
        "X = pandas.read_pickle(path + '/X.pkl')\n"
        "numpy.save(path + '/out.npy', treedgp.load(path + '/model.npz').predict(X))\n"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True)
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), fitted.predict(X))


def test_custom_priors_and_settings_survive(tmp_path):
    X, y = frame()
    priors = treedgp.Priors(
        tree=treedgp.TreePrior(alpha=0.9, min_leaf=5),
        nugget=treedgp.NuggetPrior(weights=(0.5, 0.5), shapes=(1.0, 2.0), rates=(1.0, 9.0)),
        coefficients=treedgp.CoefficientPrior(kind="fixed", tau2=2.0),
    )
    a = model(priors=priors, input_scaling="quantile", split_features=["kind", "load"], kernel="matern32").fit(X, y)
    a.save(tmp_path / "model.npz")
    b = treedgp.load(tmp_path / "model.npz")
    assert b.priors == priors
    assert b.get_params() == a.get_params()
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


def test_extend_equals_a_longer_run(fitted, tmp_path):
    X, y = frame()
    longer = model(draws=45).fit(X, y)
    fitted.save(tmp_path / "model.npz")
    assert_same_draws(treedgp.load(tmp_path / "model.npz").extend(15), longer)
    assert_same_draws(model().fit(X, y).extend(10).extend(5), longer)


def test_refitting_with_a_finished_checkpoint_continues_it(tmp_path):
    X, y = frame()
    path = tmp_path / "run.npz"
    assert_same_draws(model().fit(X, y, checkpoint=path), model().fit(X, y))
    assert_same_draws(model(draws=40).fit(X, y, checkpoint=path), model(draws=40).fit(X, y))
    assert treedgp.load(path).posterior_.draws.n_draws == 40


@pytest.mark.parametrize("change", ["settings", "data"])
def test_a_foreign_checkpoint_is_refused_with_both_digests(tmp_path, change):
    X, y = frame()
    path = tmp_path / "run.npz"
    model().fit(X, y, checkpoint=path)
    before = path.read_bytes()
    other = model(kernel="matern32") if change == "settings" else model()
    with pytest.raises(ConfigError, match=r"digest is [0-9a-f]{16}, that of this fit [0-9a-f]{16}"):
        other.fit(X, y + (change == "data"), checkpoint=path)
    assert path.read_bytes() == before


def test_another_instruction_set_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    model().fit(*frame(), checkpoint=path)
    monkeypatch.setattr(session._core, "isa", lambda: "abacus")
    with pytest.raises(ConfigError, match="TREEDGP_ISA="):
        treedgp.resume(path)
    loaded = treedgp.load(path)
    loaded.predict(frame()[0])  # to predict, any will do
    with pytest.raises(ConfigError, match="TREEDGP_ISA="):
        loaded.extend(5)


def test_a_refused_file_still_says_which_instruction_set_drew_it(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    model().fit(*frame(), checkpoint=path)
    before = path.read_bytes()
    monkeypatch.setattr(session._core, "isa", lambda: "abacus")
    for _ in range(2):
        with pytest.raises(ConfigError, match="TREEDGP_ISA="):
            model().fit(*frame(), checkpoint=path)
        assert path.read_bytes() == before
    loaded = treedgp.load(path)
    loaded.save(path)
    assert path.read_bytes() == before


def test_an_unknown_instruction_set_is_told_as_what_it_is(fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "model.npz")

    def isa():
        raise RuntimeError("TREEDGP_ISA: expected one of avx2, scalar on this machine, got 'abacus'")

    monkeypatch.setattr(session._core, "isa", isa)
    for start in (lambda: model().fit(*frame()), lambda: treedgp.load(tmp_path / "model.npz")):
        with pytest.raises(ConfigError, match=r"TREEDGP_ISA: expected one of .* got 'abacus'\. Change it"):
            start()


def test_a_checkpoint_still_tuning_says_how_to_go_on(tmp_path):
    X, y = frame()
    path = tmp_path / "run.npz"
    estimator = model(tune=500)

    class Enough(Exception):
        pass

    def stop(*args):
        raise Enough

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persistence.Checkpoint, "after_chunk", stop)
        with pytest.raises(Enough):
            estimator.fit(X, y, checkpoint=path)
    assert not hasattr(estimator, "posterior_")
    with pytest.raises(FormatError, match=r"still tuning.*resume"):
        treedgp.load(path)
    assert_same_draws(treedgp.resume(path), model(tune=500).fit(X, y))


KILLED = """
import sys, warnings
import numpy as np
sys.path.insert(0, sys.argv[2])
warnings.simplefilter("ignore")
from treedgp.estimators import persistence, session
from treedgp.posterior import io
persistence.CHECKPOINT_SECONDS, persistence.CHECKPOINT_SHARE = 0, 1e9
from test_persistence import frame, model
print("ready", flush=True)
model(draws=4000, tune=2000).fit(*frame(), checkpoint=sys.argv[1])
"""


def test_kill_minus_nine_and_resume_equals_an_uninterrupted_run(tmp_path):
    path = tmp_path / "run.npz"
    command = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parent)]
    for attempt in range(3):  # each goes on from where the one before was killed
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ)
        assert process.stdout.readline().strip() == b"ready"
        deadline = time.monotonic() + 60
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.15 + 0.1 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert path.exists()
    resumed = treedgp.resume(path)
    assert_same_draws(resumed, model(draws=4000, tune=2000).fit(*frame()))


def test_what_is_saved_is_what_was_fitted(tmp_path):
    """Settings given as an Index, or changed after the fit, or left to defaults, cannot change a loaded model."""
    X, y = frame()
    a = model(leaf="linear", split_features=X.columns[[1]], leaf_features=X.columns[:2]).fit(X, y)
    a.set_params(kernel="matern12", tune=10)
    a.save(tmp_path / "model.npz")
    b = treedgp.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(a.predict(X), b.predict(X))
    assert list(b.posterior_.split_frequencies().index) == ["load"]
    assert_same_draws(b.extend(5), a.extend(5))


def test_checkpoints_of_other_columns_or_seeds_are_told_apart(tmp_path):
    X, y = frame()
    path = tmp_path / "run.npz"
    model(split_features=X.columns[:1]).fit(X, y, checkpoint=path)
    for other in (model(split_features=X.columns[1:2]), model(split_features=X.columns[:1], random_state=4)):
        with pytest.raises(ConfigError, match="digest"):
            other.fit(X, y, checkpoint=path)


def test_a_checkpoint_that_cannot_be_written_is_known_before_sampling(tmp_path):
    X, y = frame()
    estimator = model().fit(X, y).set_params(draws=10**6)
    with pytest.raises(ConfigError, match="folder"):
        estimator.fit(X, y, checkpoint=tmp_path / "nowhere" / "run.npz")
    estimator.predict(X)  # the first fit is still there


def test_a_file_that_takes_long_to_write_is_written_less_often(fitted, tmp_path, monkeypatch):
    times = iter([0.0, 5.0, 5.0, 25.0, 30.0, 224.0, 226.0, 226.0, 226.5])
    monkeypatch.setattr(persistence.time, "monotonic", lambda: next(times))
    written = []
    monkeypatch.setattr(persistence, "save", lambda *_: written.append(1))
    checkpoint = persistence.Checkpoint(tmp_path / "run.npz", fitted, fitted._session)
    for count in (1, 1, 1, 2):  # at 5 s, which takes 20 s; not at 30 s, nor at 224; at 226
        checkpoint.after_chunk()
        assert len(written) == count


def test_a_model_is_loaded_from_a_path():
    with pytest.raises(ConfigError, match=r"path of a file to read, text or pathlib\.Path, got None"):
        treedgp.load(None)


def test_a_checkpoint_is_a_path():
    with pytest.raises(ConfigError, match=r"Expected the path of a file to write, text or pathlib\.Path, got 5"):
        model().fit(*frame(), checkpoint=5)


def test_a_run_that_fails_while_tuning_leaves_an_unfitted_estimator(monkeypatch):
    X, y = frame()
    estimator = model().fit(X, y)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "run_chains", interrupt)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    for use in (lambda: estimator.predict(X), lambda: estimator.extend(5), lambda: estimator.save("model.npz")):
        with pytest.raises(NotFittedError):
            use()


def test_extending_a_copy_leaves_the_original_alone(fitted, tmp_path):
    twin = copy.copy(fitted).extend(10)
    assert twin.posterior_.draws.n_draws == 40
    fitted.save(tmp_path / "model.npz")
    assert treedgp.load(tmp_path / "model.npz").posterior_.draws.n_draws == fitted.posterior_.draws.n_draws == 30


@pytest.mark.parametrize(
    "change",
    [{"thin": 0}, {"n_jobs": 0}, {"draws": "x"}, {"chains": -1}, {"kernel": 3}, {"split_features": [99]}, {"new": 1}],
)
def test_hostile_settings_are_refused_or_harmless(fitted, tmp_path, change):
    path = tmp_path / "model.npz"
    fitted.save(path)
    meta, arrays = io.read(path)
    own = {name: meta[name] for name in meta if name not in io.OWN_KEYS}
    io.write(path, {**own, "params": {**own["params"], **change}}, arrays)
    try:
        loaded = treedgp.load(path)
    except FormatError:
        return
    np.testing.assert_array_equal(loaded.predict(frame()[0]), fitted.predict(frame()[0]))


@pytest.mark.parametrize(
    "change",
    [
        {"chains": 10**9},
        {"round": -1},
        {"seed": "x"},
        {"split": [99]},
        {"split": [-1, 0]},
        {"split": [0] * 50},
        {"leaf": [0.0]},
        {"leaf": "0"},
        {"scaling": "log"},
        {"isa": 5},
        {"isa": "x" * 1000},
        {"isa": "\x1b[2J"},
    ],
)
def test_hostile_descriptions_are_refused(fitted, tmp_path, change):
    path = tmp_path / "model.npz"
    fitted.save(path)
    meta, arrays = io.read(path)
    own = {name: meta[name] for name in meta if name not in io.OWN_KEYS}
    io.write(path, {**own, **change}, arrays)
    with pytest.raises(FormatError, match=r"model\.npz"):
        treedgp.load(path)


def test_every_damaged_file_is_refused(fitted, tmp_path):
    fitted.save(tmp_path / "model.npz")
    X, _ = frame()
    expected = fitted.predict(X)
    check_flips(tmp_path / "model.npz", 250, lambda loaded: np.array_equal(loaded.predict(X), expected))


def test_files_of_schema_1_keep_loading():
    """Written by the release that introduced schema 1; never to be rewritten after it.

    model(draws=10, tune=200, thin=10, priors=Priors(tree=TreePrior(min_leaf=5))).fit(*frame(30)).save(OLD_FILE)
    """
    loaded = treedgp.load(OLD_FILE)
    X, y = frame(30)
    assert loaded.posterior_.draws.n_draws == 10
    prediction, sd = loaded.predict(X, return_std=True)
    assert np.corrcoef(prediction, y)[0, 1] > 0.8
    assert (sd > 0).all()
