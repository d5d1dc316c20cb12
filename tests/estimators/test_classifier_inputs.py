"""Categorical and other inputs of the classifier: as in the regressor."""

import warnings

import numpy as np
import pandas as pd
import pytest

from treedgp import DataError, Priors, TreedGPClassifier, TreePrior
from treedgp.model.priors import CLASS_PRIORS

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

MODELS = {
    "per_class": {},
    "shared": {"tree_sharing": "shared"},
    "metropolis": {"latent_sampler": "metropolis"},
    "constant": {"leaf": "constant"},
}
each_model = pytest.mark.parametrize("name", MODELS)


def frame(n=90, dtype="category"):
    """The border between the classes in x depends on the colour."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.random(n), "colour": np.tile(["red", "green", "blue"], n // 3), "z": rng.random(n)})
    above = X["x"] > X["colour"].map({"red": 0.2, "green": 0.5, "blue": 0.8})
    X["colour"] = X["colour"].astype(dtype)
    return X, np.where(above, "above", "below")


def model(name="per_class", **settings):
    return TreedGPClassifier(**{"chains": 1, "draws": 40, "tune": 150, "random_state": 0, **MODELS[name], **settings})


@each_model
def test_splits_on_categories_only(name):
    X, y = frame()
    fitted = model(name, split_features="categorical").fit(X, y)
    assert list(fitted.posterior_.split_frequencies().index) == ["colour"]
    points = fitted.posterior_.split_points("colour")
    assert set(points["level"]) <= {"red", "green", "blue"}


def test_the_categorical_split_is_found():
    X, y = frame(150)
    fitted = model(tune=400, split_features="categorical").fit(X, y)
    assert fitted.posterior_.split_frequencies()["colour"] > 0.9
    assert fitted.score(X, y) > 0.85
    assert "colour ==" in str(max(fitted.posterior_.map_trees().values(), key=lambda tree: tree.n_leaves))


@pytest.mark.parametrize("name", ["per_class", "shared", "metropolis"])
def test_leaves_see_a_categorical_column_only_if_it_is_listed(name):
    X, y = frame()
    plain = model(name).fit(X, y)
    assert plain.posterior_.draws.arrays["range"].shape[1] == 2
    listed = model(name, leaf_features=["x", "colour"]).fit(X, y)
    assert listed.posterior_.problem.encoder.leaf_names() == ["x", "colour=green", "colour=red"]
    assert listed.posterior_.draws.arrays["range"].shape[1] == 3  # one range for each 0/1 column
    assert listed.posterior_.draws.arrays["beta"].shape[1] == 1  # the mean stays constant
    assert listed.predict_proba(X).sum(axis=1) == pytest.approx(1, abs=1e-12)


@each_model
def test_an_unseen_level_warns_once_at_the_users_line(name):
    X, y = frame(dtype=object)
    fitted = model(name).fit(X, y)
    new = X.head(3).assign(colour=["pink", "red", None])
    for ask in ("predict", "predict_proba", "vote_proba"):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            getattr(fitted, ask)(new)
        assert [w.filename for w in caught] == [__file__], ask
        assert "column 'colour': 'pink', missing" in str(caught[0].message)


def test_an_unseen_level_takes_the_rest_side():
    X, y = frame(dtype=object)
    two = X["colour"] != "green"
    priors = Priors(tree=TreePrior(alpha=0.99, max_depth=1))
    fitted = model("constant", split_features=["colour"], priors=priors).fit(X[two], y[two])
    (draws,) = fitted.posterior_.layers
    by_draw = fitted.posterior_.predictor.probability_by_draw(np.array([[0.5, c, 0.5] for c in (0.0, 1.0, -1.0)]))
    roots = draws.arrays["node_start"][:-1]
    splits = draws.arrays["column"][roots] == 0
    assert splits.any()
    other = np.where(draws.arrays["cut"][roots] == 0, 1, 0)[splits]  # the level that the rule does not name
    assert np.array_equal(by_draw[splits, 2], by_draw[splits, other])


@each_model
def test_a_missing_category_is_a_level_and_a_missing_number_is_an_error(name):
    X, y = frame(dtype=object)
    X.loc[::4, "colour"] = None
    fitted = model(name).fit(X, y)
    assert fitted.posterior_.problem.encoder.columns[1].labels[-1] == "missing"
    holes = X.copy()
    holes.loc[[3, 5], "x"] = np.nan
    for call in (lambda: model(name).fit(holes, y), lambda: fitted.predict_proba(holes)):
        with pytest.raises(DataError, match=r"NaN.*column 'x' \(rows 3, 5\)"):
            call()


@pytest.mark.parametrize("name", ["per_class", "shared"])
def test_quantile_scaling_sees_only_ranks(name):
    X, y = frame()
    skewed = X.assign(x=np.exp(20 * X["x"]))
    fitted = model(name, input_scaling="quantile").fit(skewed, y)
    inputs = fitted.posterior_.problem.x
    assert inputs.min() == 0
    assert inputs.max() == 1
    same = model(name, input_scaling="quantile").fit(X, y)
    assert fitted.predict_proba(skewed) == pytest.approx(same.predict_proba(X), abs=1e-9)
    far = skewed.assign(x=1e12)
    assert fitted.predict_proba(far) == pytest.approx(fitted.predict_proba(far.assign(x=1e15)), abs=1e-12)
    thresholds = fitted.posterior_.split_points("x")["threshold"]
    assert thresholds.between(skewed["x"].min(), skewed["x"].max()).all()  # in the user's units


def test_polars_and_pandas_give_the_same_bits():
    polars = pytest.importorskip("polars")
    X, y = frame(dtype=str)
    ours = model().fit(X, y)
    theirs = model().fit(polars.DataFrame(X.to_dict("list")), polars.Series(y.tolist()))
    assert ours.predict_proba(X).tobytes() == theirs.predict_proba(polars.DataFrame(X.to_dict("list"))).tobytes()


@each_model
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((20, 1)),
        np.repeat(np.arange(2.0), 10)[:, None],
        np.arange(20.0)[:, None] * 1e12,
        np.arange(20.0)[:, None] * 1e-12,
        np.random.default_rng(0).normal(size=(20, 40)),
    ],
    ids=["constant column", "duplicate rows", "huge", "tiny", "more columns than rows"],
)
def test_awkward_inputs_give_finite_probabilities(name, X):
    y = np.tile(["a", "b"], 10)
    fitted = model(name, draws=10, tune=20).fit(X, y)
    shares = fitted.predict_proba(X)
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert np.isfinite(fitted.posterior_.log_posterior).all()


@each_model
def test_without_leaf_columns(name):
    X, y = frame()
    fitted = model(name, categorical_features="from_dtype")
    if name == "constant":
        fitted.fit(X[["colour"]], y)
    else:
        with pytest.warns(UserWarning, match="every leaf is a constant") as caught:
            fitted.fit(X[["colour"]], y)
        assert [w.filename for w in caught if "every leaf" in str(w.message)] == [__file__]
    assert fitted.predict_proba(X[["colour"]]).shape == (90, 2)


def test_default_priors_are_those_of_classes():
    X, y = frame()
    assert model().fit(X, y).priors_ == CLASS_PRIORS
