"""Saved classifiers and their checkpoints: the same predictions, the same draws; hostile files are refused.

Run as a script it writes the golden file of the present schema; a released one is never to be rewritten.
"""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from file_damage import check_flips

import treedgp
from treedgp import ConfigError, FormatError, TreedGPClassifier, TreedGPRegressor
from treedgp.estimators import persistence
from treedgp.posterior import io

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

GOLDEN = Path(__file__).parent / "fixtures" / "classifier-schema-1.npz"
EXPECTED = GOLDEN.with_suffix(".json")

MODELS = {
    "per_class": {},
    "shared": {"tree_sharing": "shared"},
    "metropolis": {"latent_sampler": "metropolis", "latent_block_size": 7},
    "constant": {"leaf": "constant"},
}
ASKS = {name: ("predict_proba", "vote_proba", "sample_posterior", "latent_mean_and_variance") for name in MODELS}
ASKS["constant"] = ("predict_proba", "vote_proba")


def frame(n=60):
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"speed": rng.random(n), "load": 100 * rng.random(n), "kind": rng.choice(["u", "v", "w"], n)})
    height = np.sin(6 * X["speed"]) + (X["kind"] == "u") + 0.1 * rng.normal(size=n)
    return X, np.array(["low", "middle", "high"])[np.digitize(height, [0.2, 1.0])]


def model(name="per_class", draws=20, **settings):
    base = {"tune": 40, "chains": 2, "random_state": 3, "thin": 2}
    return TreedGPClassifier(draws=draws, **base | MODELS[name] | settings)


def assert_same(a, b):
    """The same draws of every class, bit for bit."""
    ours, theirs = a.posterior_.layers, b.posterior_.layers
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.n_chains == other.n_chains
        assert one.arrays.keys() == other.arrays.keys()
        for name, values in one.arrays.items():
            assert values.tobytes() == other.arrays[name].tobytes(), name
    assert np.array_equal(a.posterior_.counts, b.posterior_.counts)


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    return request.param, model(request.param).fit(*frame())


@pytest.fixture
def saved(tmp_path):
    """A saved classifier with one tree a class."""
    path = tmp_path / "model.npz"
    model().fit(*frame()).save(path)
    return path


# --- the same again ---


def test_load_gives_the_same_model(fitted, tmp_path):
    name, m = fitted
    m.save(tmp_path / "model.npz")
    loaded = treedgp.load(tmp_path / "model.npz")
    X, y = frame()
    assert isinstance(loaded, TreedGPClassifier)
    assert_same(m, loaded)
    for ask in ASKS[name]:
        assert np.array_equal(getattr(m, ask)(X[:9]), getattr(loaded, ask)(X[:9])), ask
    assert np.array_equal(m.predict(X), loaded.predict(X))
    assert loaded.score(X, y) == m.score(X, y)
    assert loaded.get_params() == m.get_params()
    assert loaded.priors_ == m.priors_
    assert loaded.classes_.tolist() == ["high", "low", "middle"]
    assert loaded.classes_.dtype == m.classes_.dtype
    assert list(loaded.feature_names_in_) == ["speed", "load", "kind"]
    pd.testing.assert_frame_equal(loaded.posterior_.acceptance(), m.posterior_.acceptance())
    pd.testing.assert_frame_equal(loaded.posterior_.summary(), m.posterior_.summary())
    assert loaded.posterior_.map_trees(target="low") == m.posterior_.map_trees(target="low")


@pytest.mark.parametrize(
    "y",
    [
        np.tile([0, 1], 30),
        np.tile([True, False], 30),
        np.tile([2.0, 5.0], 30),
        np.tile(np.array([3, 250], np.uint8), 30),
        np.tile(["a", "é"], 30).astype(object),
        np.tile(["", "a/b"], 30),
    ],
    ids=["integers", "booleans", "floats", "bytes", "objects", "odd text"],
)
def test_labels_of_every_type_survive(y, tmp_path):
    m = model("constant").fit(frame()[0], y)
    m.save(tmp_path / "model.npz")
    loaded = treedgp.load(tmp_path / "model.npz")
    assert loaded.classes_.dtype == m.classes_.dtype
    assert loaded.classes_.tolist() == m.classes_.tolist()
    assert loaded.predict(frame()[0]).dtype == m.classes_.dtype


def test_custom_priors_and_settings_survive(tmp_path):
    X, y = frame()
    priors = treedgp.Priors(
        tree=treedgp.TreePrior(alpha=0.9, min_leaf=5),
        noise=treedgp.NoisePrior(a=5.0, g=20.0, rates=None),
        coefficients=treedgp.CoefficientPrior(kind="hierarchical"),
    )
    a = model(priors=priors, input_scaling="quantile", split_features=["kind", "load"], kernel="matern32").fit(X, y)
    a.save(tmp_path / "model.npz")
    b = treedgp.load(tmp_path / "model.npz")
    assert b.priors == priors
    assert b.get_params() == a.get_params()
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))


def test_numbers_and_truths_of_numpy_are_as_good_as_pythons(tmp_path):
    """Searches over NumPy's grids give them."""
    X, y = frame()
    settings = {"latent_sampler": "metropolis", "chains": 2, "random_state": 3}
    numbers = {"draws": 5, "tune": 10, "thin": 2, "latent_block_size": 7}
    truths = {"tree": True, "limiting_linear": False, "isotropic": True}
    numpys = {n: np.int64(v) for n, v in numbers.items()} | {n: np.bool_(v) for n, v in truths.items()}
    plain = TreedGPClassifier(**settings, **numbers, **truths).fit(X, y).extend(3)
    same = TreedGPClassifier(**settings, **numpys).fit(X, y, checkpoint=tmp_path / "run.npz").extend(np.int64(3))
    assert_same(plain, same)
    same.save(tmp_path / "model.npz")
    assert_same(plain, treedgp.load(tmp_path / "model.npz"))
    assert treedgp.load(tmp_path / "run.npz").posterior_.n_leaves.shape[-1] == 5


def test_extend_equals_a_longer_run(fitted, tmp_path):
    name, m = fitted
    longer = model(name, draws=35).fit(*frame())
    m.save(tmp_path / "model.npz")
    assert_same(treedgp.load(tmp_path / "model.npz").extend(15), longer)
    assert_same(model(name).fit(*frame()).extend(10).extend(5), longer)
    assert m.posterior_.layers[0].n_draws == 20


def test_refitting_with_a_finished_checkpoint_continues_it(fitted, tmp_path):
    name, m = fitted
    X, y = frame()
    path = tmp_path / "run.npz"
    assert_same(model(name).fit(X, y, checkpoint=path), m)
    assert_same(model(name, draws=30).fit(X, y, checkpoint=path), model(name, draws=30).fit(X, y))
    assert treedgp.load(path).posterior_.layers[0].n_draws == 30


def test_a_checkpoint_still_tuning_goes_on(fitted, tmp_path):
    name, m = fitted
    path = tmp_path / "run.npz"

    class Enough(Exception):
        pass

    def stop(*args):
        raise Enough

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(persistence.Checkpoint, "after_chunk", stop)
        with pytest.raises(Enough):
            model(name).fit(*frame(), checkpoint=path)
    with pytest.raises(FormatError, match=r"still tuning.*resume"):
        treedgp.load(path)
    assert_same(treedgp.resume(path), m)


CHANGES = {
    "tree sharing": lambda y: (model("shared"), y),
    "sampler": lambda y: (model("metropolis"), y),
    "block size": lambda y: (model(latent_block_size=9), y),
    "leaf": lambda y: (model("constant"), y),
    "labels": lambda y: (model(), np.where(y == "low", "lower", y)),
    "data": lambda y: (model(), y[::-1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_foreign_checkpoint_is_refused(tmp_path, change):
    X, y = frame()
    path = tmp_path / "run.npz"
    model().fit(X, y, checkpoint=path)
    before = path.read_bytes()
    other, labels = CHANGES[change](y)
    with pytest.raises(ConfigError, match=r"digest is [0-9a-f]{16}, that of this fit [0-9a-f]{16}"):
        other.fit(X, labels, checkpoint=path)
    assert path.read_bytes() == before


KILLED = """
import sys, warnings
sys.path.insert(0, sys.argv[2])
warnings.simplefilter("ignore")
from treedgp.estimators import persistence
persistence.CHECKPOINT_SECONDS = 0
from test_classifier_files import frame, model
print("ready", flush=True)
model(sys.argv[3], draws=500, tune=400).fit(*frame(), checkpoint=sys.argv[1])
"""


@pytest.mark.parametrize("name", MODELS)
def test_kill_minus_nine_and_resume_equals_an_uninterrupted_run(tmp_path, name):
    path = tmp_path / "run.npz"
    command = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parent), name]
    for attempt in range(2):  # the second goes on from where the first was killed
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ)
        assert process.stdout.readline().strip() == b"ready"
        deadline = time.monotonic() + 60
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1 + 0.1 * attempt)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert path.exists()
    assert_same(treedgp.resume(path), model(name, draws=500, tune=400).fit(*frame()))


# --- hostile and damaged files ---


def rewritten(path, meta=None, arrays=None):
    """The file with changed meta and arrays (None: removed), as if treedgp had written it."""
    old, held = io.read(path)
    own = {name: value for name, value in old.items() if name not in io.OWN_KEYS}
    for target, changes in ((own, meta or {}), (held, arrays or {})):
        for name, value in changes.items():
            if value is None:
                del target[name]
            else:
                target[name] = value(target) if callable(value) else value
    io.write(path, own, held)


def label_json(values, dtype="<U6"):
    return {"labels": {"dtype": dtype, "values": values}}


HOSTILE_META = {
    "no labels": {"labels": None},
    "labels of a regressor": {"labels": lambda meta: None},
    "too few labels": label_json(["high", "low"]),
    "too many labels": label_json(["high", "low", "middle", "none"]),
    "one label": label_json(["high"]),
    "equal labels": label_json(["high", "high", "middle"]),
    "labels of two types": label_json(["high", 1, "middle"], "|O"),
    "labels of another type": label_json([1, 2, 3]),
    "labels cut short": label_json(["high", "low", "middle"], "<U2"),
    "labels that claim memory": label_json(["high", "low", "middle"], "<U999999999"),
    "labels of a strange dtype": label_json(["high", "low", "middle"], "(9,9)f8"),
    "labels of no dtype": {"labels": {"dtype": None, "values": ["high", "low", "middle"]}},
    "labels in a list": {"labels": ["high", "low", "middle"]},
    "labels that are no list": label_json("high"),
    "labels out of range": label_json([1, 2, 300], "|u1"),
    "labels that are not whole": label_json([1.5, 2, 3], "<i8"),
    "kind regressor": {"kind": "regressor"},
    "kind unknown": {"kind": "forest"},
    "spec of a regressor": {"spec": lambda meta: meta["spec"] | {"classes": None}},
    "linear leaves": {"spec": lambda meta: meta["spec"] | {"leaf": "linear"}},
    "no latents": {"spec": lambda meta: meta["spec"] | {"leaf": "constant"}},
    "shared tree": {
        "spec": lambda meta: meta["spec"] | {"classes": meta["spec"]["classes"] | {"tree_sharing": "shared"}}
    },
    "unknown sampler": {
        "spec": lambda meta: meta["spec"] | {"classes": meta["spec"]["classes"] | {"latent_sampler": "gibbs"}}
    },
    "block size 0": {
        "spec": lambda meta: meta["spec"] | {"classes": meta["spec"]["classes"] | {"latent_block_size": 0}}
    },
    "one chain more": {"chains": 3},
    "one chain less": {"chains": 1},
    "more rounds": {"round": 4000},
    "fewer rounds": {"round": 42},
    "regressor's params": {"params": lambda meta: meta["params"] | {"mean": "linear"}},
}


@pytest.mark.parametrize("change", HOSTILE_META)
def test_hostile_descriptions_are_refused(saved, change):
    rewritten(saved, meta=HOSTILE_META[change])
    with pytest.raises(FormatError, match=r"model\.npz is not a usable treedgp file: .{10,}"):
        treedgp.load(saved)


def changed(name, index, value):
    def change(arrays):
        values = arrays[name].copy()
        values[index] = value
        return values

    return {name: change}


def removed(layer):
    """Every array of a group."""
    return lambda held: {name: None for name in held if name.startswith(layer)}


HOSTILE_ARRAYS = {
    "no latents": {"draws0/latent": None},
    "no latents of a state": {"chain1.1/latent": None},
    "latents of other rows": {"draws1/latent": lambda a: a["draws1/latent"][:, :-1]},
    "latents of other draws": {"draws1/latent": lambda a: a["draws1/latent"][:-1]},
    "latents that are NaN": changed("draws1/latent", (3, 4), np.nan),
    "latents that are infinite": changed("chain0.0/latent", (0, 4), np.inf),
    "latents of another type": {"draws0/latent": lambda a: a["draws0/latent"].astype(np.float32)},
    "one layer missing": removed("draws1/"),
    "one layer of a state missing": removed("chain0.1/"),
    "one layer more": {"draws2/latent": lambda a: a["draws1/latent"]},
    "one layer of a state more": {"chain0.2/latent": lambda a: a["chain0.0/latent"]},
    "a chain more": {"chain2.0/latent": lambda a: a["chain0.0/latent"]},
    "an array that means nothing": {"extra": np.zeros(3)},
    "an array of a layer that means nothing": {"draws0/weight": lambda a: np.zeros(40)},
    "a step that means nothing": {"draws0/log_step": lambda a: a["chain0.0/log_step"]},
    "layers of another posterior": changed("draws1/log_posterior", 0, 1.0),
    "labels that are no index": changed("y", 0, 0.5),
    "labels out of range": changed("y", 0, 3),
    "labels below 0": changed("y", 0, -1),
    "a label without rows": {"y": lambda a: np.minimum(a["y"], 1)},
    "too few counts": {"counts": lambda a: a["counts"][:, :-1]},
    "counts of more chains": {"counts": lambda a: np.concatenate([a["counts"], a["counts"]])},
    "negative counts": changed("counts", (0, 0, 0), -1),
    "negative sigma2": changed("draws1/sigma2", 0, -1.0),
    "a rule that is none": changed("chain1.1/column", 0, 9),
    "sites of other rows": {"chain0.1/site": lambda a: a["chain0.1/site"][:-1]},
    "a site that is NaN": changed("chain1.0/site", (3, 1), np.nan),
    "a site of precision 0": changed("chain1.0/site", (3, 0), 0.0),
    "a site in the draws": {"draws0/site": lambda a: a["chain0.0/site"]},
    "steps missing": {"chain0.1/log_step": None},
    "fewer steps": {"chain0.1/log_step": lambda a: a["chain0.1/log_step"][:-1]},
}


@pytest.mark.parametrize("change", HOSTILE_ARRAYS)
def test_hostile_arrays_are_refused(saved, change):
    wanted = HOSTILE_ARRAYS[change]
    rewritten(saved, arrays=wanted(io.read(saved)[1]) if callable(wanted) else wanted)
    with pytest.raises(FormatError, match=r"model\.npz is not a usable treedgp file: .{10,}"):
        treedgp.load(saved)


def test_layers_of_a_shared_tree_must_have_the_same_tree(tmp_path):
    path = tmp_path / "model.npz"
    model("shared", tune=200, priors=treedgp.preset("otgp").priors).fit(*frame()).save(path)
    arrays = io.read(path)[1]
    splits = np.flatnonzero((arrays["draws1/column"] == 0) | (arrays["draws1/column"] == 1))
    assert len(splits)  # else there is no rule to change
    rewritten(path, arrays=changed("draws1/cut", splits[0], (arrays["draws1/cut"][splits[0]] + 1) % 50))
    with pytest.raises(FormatError, match="'cut' must be the same for all classes"):
        treedgp.load(path)


def test_arrays_of_a_regressor_make_no_classifier(saved, tmp_path):
    X, y = frame()
    other = tmp_path / "regressor.npz"
    TreedGPRegressor(draws=20, tune=40, chains=2, thin=2, random_state=3).fit(X, (y == "low") * 1.0).save(other)
    _, arrays = io.read(other)
    rewritten(saved, arrays={name: None for name in io.read(saved)[1]} | arrays)
    with pytest.raises(FormatError, match=r"model\.npz"):
        treedgp.load(saved)
    rewritten(other, arrays={"draws0/latent": np.zeros((40, 60))})
    with pytest.raises(FormatError, match="got also 'latent'"):
        treedgp.load(other)


@pytest.mark.parametrize("change", [{"thin": 0}, {"tree_sharing": "none"}, {"latent_block_size": -1}, {"kernel": 3}])
def test_hostile_settings_are_refused_or_harmless(saved, change):
    X, _ = frame()
    before = treedgp.load(saved).predict_proba(X)
    rewritten(saved, meta={"params": lambda meta: meta["params"] | change})
    try:
        loaded = treedgp.load(saved)
    except FormatError:
        return
    assert np.array_equal(loaded.predict_proba(X), before)


def test_every_damaged_file_is_refused(fitted, tmp_path):
    _, m = fitted
    m.save(tmp_path / "model.npz")
    X, _ = frame(10)
    expected = m.predict_proba(X)
    check_flips(tmp_path / "model.npz", 60, lambda loaded: np.array_equal(loaded.predict_proba(X), expected))


def test_a_file_cut_short_is_refused(saved):
    whole = saved.read_bytes()
    for share in (0.0, 0.3, 0.9, 0.999):
        saved.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(FormatError):
            treedgp.load(saved)


def test_the_file_holds_numbers_and_json_only(saved):
    with zipfile.ZipFile(saved) as archive:
        names = archive.namelist()
    assert all(name.endswith(".npy") for name in names)
    with np.load(saved, allow_pickle=False) as held:
        assert all(held[name].dtype.kind in "biuf" for name in held.files)
        assert json.loads(held["meta"].tobytes())["labels"] == {"dtype": "<U6", "values": ["high", "low", "middle"]}


# --- the golden file ---


def test_files_of_schema_1_keep_loading():
    """Written when classifiers came to schema 1; its predictions are the ones it had then."""
    loaded, expected = treedgp.load(GOLDEN), json.loads(EXPECTED.read_text())
    X, _ = frame(30)
    assert loaded.classes_.tolist() == expected["classes"]
    assert loaded.posterior_.n_leaves.tolist() == expected["n_leaves"]
    assert loaded.predict_proba(X) == pytest.approx(np.array(expected["predict_proba"]), abs=1e-6)
    assert loaded.vote_proba(X) == pytest.approx(np.array(expected["vote_proba"]), abs=1e-2)
    mean, variance = loaded.latent_mean_and_variance(X)
    assert mean == pytest.approx(np.array(expected["latent_mean"]), rel=1e-6, abs=1e-6)
    assert variance == pytest.approx(np.array(expected["latent_variance"]), rel=1e-6)
    assert loaded.predict(X).tolist() == expected["predict"]
    assert loaded.extend(5).posterior_.n_leaves.shape[-1] == 15


def write_golden():
    X, y = frame(30)
    m = model(draws=10).fit(X, y)
    m.save(GOLDEN)
    mean, variance = m.latent_mean_and_variance(X)
    facts = {
        "classes": m.classes_,
        "n_leaves": m.posterior_.n_leaves,
        "predict": m.predict(X),
        "predict_proba": m.predict_proba(X),
        "vote_proba": m.vote_proba(X),
        "latent_mean": mean,
        "latent_variance": variance,
    }
    EXPECTED.write_text(json.dumps({name: values.tolist() for name, values in facts.items()}, indent=1) + "\n")


if __name__ == "__main__":
    write_golden()
