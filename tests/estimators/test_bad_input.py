"""Abuse: a typed error that says what was expected, what came and what to do; or a right answer. Never silence."""

import math

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from treedgp import (
    CoefficientPrior,
    ConfigError,
    DataError,
    NuggetPrior,
    Priors,
    TreedGPError,
    TreedGPRegressor,
    TreePrior,
)

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 2))
Y = np.sin(5 * X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(40)

SHORT = {"chains": 2, "draws": 30, "tune": 60, "random_state": 0}
WIDE = np.vstack([[[-1.7e308, 0.0], [1.7e308, 0.0]], X[2:]])
LEAVES = ("gp", "linear", "constant")
FLAT = Priors(coefficients=CoefficientPrior(kind="flat"))


def model(**settings):
    return TreedGPRegressor(**SHORT | settings)


def check_predictions(fitted, Xnew):
    """Everything that can be asked is finite and in order; returns the mean and the standard deviation."""
    mean, std = fitted.predict(Xnew, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    assert (std >= 0).all()
    quantiles = fitted.predict_quantiles(Xnew, [0.05, 0.5, 0.95])
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles, axis=1) >= 0).all()
    assert np.isfinite(fitted.sample_y(Xnew, 3)).all()
    assert np.isfinite(fitted.sample_posterior(Xnew, 3)).all()
    assert np.isfinite(fitted.predict(Xnew, return_cov=True)[1]).all()
    assert np.isfinite(fitted.posterior_.log_posterior).all()
    return mean, std


# --- settings ---

WRONG_SETTINGS = {
    "leaf": ["GP", "tree", None, 1, np.array(["gp"]), np.array(["gp", "linear"])],
    "tree": ["no", None, 2],
    "limiting_linear": ["no", None],
    "mean": ["zero", None, np.array(["linear"])],
    "kernel": ["rbf", None, np.exp, np.array(["gaussian"])],
    "isotropic": ["yes", None],
    "categorical_features": ["auto", [5], [-1], [True], [0.5], [[0]], ["a"]],
    "split_features": ["numeric", [2], [-1], [0.5], [True, False, True], [[0]], ["a"]],
    "leaf_features": ["numeric", [2], [-1], [0.5], [[0, 1]], ["a"]],
    "input_scaling": ["rank", None, 1, ["minmax"], np.array(["minmax"])],
    "priors": ["flat", CoefficientPrior(), Priors, {}],
    "draws": [0, -1, 2.5, "10", None, True],
    "tune": [-1, 2.5, "10", None],
    "thin": [0, -1, 1.5, None],
    "chains": [0, -1, 1.5, None],
    "n_jobs": [0, 1.5, "two"],
    "random_state": ["seed", -1, 1.5],
    "progressbar": ["always", 3],
}


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG_SETTINGS.items() for value in values]
)
def test_an_impossible_setting_is_named_with_what_came(name, value):
    with pytest.raises(ConfigError) as caught:
        model(**{name: value}).fit(X, Y)
    message = str(caught.value)
    assert name in message
    assert "got" in message
    assert any(word in message for word in ("must", "needs", "expected"))


def test_every_setting_is_tried():
    assert set(WRONG_SETTINGS) == set(TreedGPRegressor().get_params())


def test_a_failed_fit_leaves_no_posterior():
    unfitted = model(draws=0)
    with pytest.raises(ConfigError):
        unfitted.fit(X, Y)
    assert not hasattr(unfitted, "posterior_")


# --- arrays ---

BAD_FIT = {
    "nan in X": (np.where(np.eye(40, 2) == 1, np.nan, X), Y, "NaN"),
    "inf in X": (np.where(np.eye(40, 2) == 1, np.inf, X), Y, "infinity"),
    "nan in y": (X, np.where(np.arange(40) == 3, np.nan, Y), "NaN"),
    "inf in y": (X, np.where(np.arange(40) == 3, -np.inf, Y), "infinity"),
    "one-dimensional X": (X[:, 0], Y, "Expected 2D array"),
    "three-dimensional X": (X[None], Y, "dim 3"),
    "too few y": (X, Y[:-1], "inconsistent numbers of samples"),
    "two responses": (X, np.column_stack([Y, Y]), "1d array"),
    "no rows": (X[:0], Y[:0], "minimum of 1 is required"),
    "no columns": (X[:, :0], Y, "minimum of 1 is required"),
    "no y": (X, None, "requires y"),
    "text in X": (np.full((40, 2), "a"), Y, "could not convert string"),
    "text in y": (X, np.full(40, "a"), "could not convert string|dtype"),
    "complex X": (X + 1j, Y, r"^Complex data not supported\. Give"),
    "a range of y that overflows": (X, np.where(np.arange(40) < 20, -1.7e308, 1.7e308), "range of y.*Rescale"),
    "a range of X that overflows": (WIDE, Y, "range of column.*Rescale"),
}


@pytest.mark.parametrize("case", BAD_FIT)
def test_bad_training_data_are_refused(case):
    bad_X, bad_y, message = BAD_FIT[case]
    with pytest.raises(ValueError, match=message):
        model().fit(bad_X, bad_y)


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, Y)


CALLS = ["predict", "predict_quantiles", "predict_interval", "sample_posterior", "sample_y"]


def call(estimator, method, Xnew):
    return estimator.predict_quantiles(Xnew, 0.5) if method == "predict_quantiles" else getattr(estimator, method)(Xnew)


@pytest.mark.parametrize("method", CALLS)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (X[:, :1], "1 features.*expecting 2"),
        (np.tile(X, 2), "4 features.*expecting 2"),
        (X[0], "Expected 2D array"),
        (X[:0], "minimum of 1 is required"),
        (np.full((1, 2), np.nan), "NaN"),
        (np.full((1, 2), np.inf), "infinity"),
        ([["a", "b"]], "could not convert"),
    ],
    ids=str,
)
def test_bad_new_rows_are_refused(fitted, method, bad, message):
    with pytest.raises(ValueError, match=message):
        call(fitted, method, bad)


@pytest.mark.parametrize("method", CALLS)
def test_nothing_is_predicted_before_a_fit(method):
    with pytest.raises(NotFittedError):
        call(model(), method, X)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m: m.predict(X, return_std=True, return_cov=True), "not both"),
        (lambda m: m.predict_interval(X, level=0), "level.*got 0"),
        (lambda m: m.predict_interval(X, level=1), "level.*got 1"),
        (lambda m: m.predict_interval(X, level=math.nan), "level.*got nan"),
        (lambda m: m.predict_interval(X, level="wide"), "level.*got 'wide'"),
        (lambda m: m.predict_interval(X, of="z"), "of must be 'y'.*got 'z'"),
        (lambda m: m.predict_quantiles(X, [0.1, 1.0]), "q must.*got"),
        (lambda m: m.predict_quantiles(X, -0.1), "q must.*got"),
        (lambda m: m.predict_quantiles(X, []), "q must.*got"),
        (lambda m: m.predict_quantiles(X, [[0.1]]), "q must.*got"),
        (lambda m: m.predict_quantiles(X, [math.nan]), "q must.*got"),
        (lambda m: m.predict_quantiles(X, "half"), "q must.*got"),
        (lambda m: m.predict_quantiles(X, 0.5, of="g"), "of must be"),
        (lambda m: m.sample_posterior(X, n=0), "n must be.*got 0"),
        (lambda m: m.sample_posterior(X, n=1.5), r"n must be.*got 1\.5"),
        (lambda m: m.sample_y(X, n_samples=0), "n_samples must be.*got 0"),
        (lambda m: m.sample_y(X, random_state="seed"), "random_state.*got 'seed'"),
    ],
    ids=range(17),
)
def test_an_impossible_question_is_a_config_error(fitted, ask, words):
    with pytest.raises(ConfigError, match=words):
        ask(fitted)


# --- the flat prior needs full rank ---


@pytest.mark.parametrize(
    ("columns", "guilty"),
    [
        (np.column_stack([X, np.full(40, 3.0)]), ["x2"]),
        (np.column_stack([X, X[:, 0]]), ["x2"]),
        (np.column_stack([X, 1 - X[:, 0] + 2 * X[:, 1]]), ["x2"]),
        (np.column_stack([np.ones(40), X, X]), ["x0", "x3", "x4"]),
        (RNG.uniform(size=(3, 5)), ["x2", "x3", "x4"]),
        (X[:1], ["x0", "x1"]),
    ],
    ids=["constant", "twin", "combination", "several", "more columns than rows", "one row"],
)
@pytest.mark.parametrize("leaf", ["gp", "linear"])
def test_flat_prior_names_the_dependent_columns(columns, guilty, leaf):
    with pytest.raises(DataError) as caught:
        model(leaf=leaf, priors=FLAT).fit(columns, Y[: len(columns)])
    message = str(caught.value)
    named = message.split("but ")[1].split(" depend")[0].split(", ")
    assert named == guilty
    assert "leaf_features" in message
    assert "hierarchical" in message


def test_flat_prior_of_zero_one_columns_names_the_level():
    level = np.arange(40) % 2
    data = np.column_stack([X[:, 0], level, level])
    with pytest.raises(DataError, match="x2=1"):
        model(categorical_features=[1, 2], leaf_features=[0, 1, 2], priors=FLAT).fit(data, Y)


@pytest.mark.parametrize("settings", [{"leaf": "constant"}, {"mean": "constant"}])
def test_flat_prior_of_a_constant_mean_takes_any_columns(settings):
    data = np.column_stack([X, X])
    check_predictions(model(priors=FLAT, **settings).fit(data, Y), data)


# --- odd but legal data: the right answer ---


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_handful_of_rows(leaf, n):
    mean, std = check_predictions(model(leaf=leaf).fit(X[:n], 7 + Y[:n]), X)
    low, high = (7 + Y[:n]).min(), (7 + Y[:n]).max()
    reach = 3 * max(high - low, 1)
    assert (mean > low - reach).all()
    assert (mean < high + reach).all()
    assert (std > 0).all()


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("tree", [True, False])
def test_fewer_rows_than_columns(leaf, tree):
    wide, y = RNG.uniform(size=(6, 30)), np.arange(6.0)
    mean, _ = check_predictions(model(leaf=leaf, tree=tree).fit(wide, y), wide)
    assert np.abs(mean - y).max() < 5


@pytest.mark.parametrize("leaf", LEAVES)
def test_constant_columns_change_nothing(leaf):
    """A constant column is never split on, and a proper coefficient prior carries it."""
    constant = np.column_stack([X, np.full(40, 5.0), np.zeros(40)])
    settings = {"leaf": leaf, "draws": 300, "tune": 300}
    mean, _ = check_predictions(model(**settings).fit(constant, Y), constant)
    without = model(**settings).fit(X, Y).predict(X)
    assert np.sqrt(np.mean((mean - without) ** 2)) < 0.2


@pytest.mark.parametrize("leaf", LEAVES)
def test_only_constant_columns_predict_about_the_mean(leaf):
    ones = np.ones((40, 2))
    mean, std = check_predictions(model(leaf=leaf, draws=200, tune=200).fit(ones, Y), ones)
    assert mean == pytest.approx(np.full(40, Y.mean()), abs=0.25)
    assert std == pytest.approx(np.full(40, Y.std()), rel=0.4)


@pytest.mark.parametrize("leaf", LEAVES)
def test_duplicate_rows_with_different_responses(leaf):
    rows = np.repeat(X[:4], 10, axis=0)
    mean, _ = check_predictions(model(leaf=leaf, draws=200, tune=200).fit(rows, Y), rows)
    assert all(np.ptp(mean[10 * i : 10 * i + 10]) < 1e-9 for i in range(4))


@pytest.mark.parametrize("leaf", LEAVES)
def test_duplicate_rows_with_equal_responses_and_a_tiny_nugget(leaf):
    """K is singular without a nugget: proposals may fail, the fit may not."""
    rows, y = np.repeat(X[:10], 4, axis=0), np.repeat(Y[:10], 4)
    priors = Priors(nugget=NuggetPrior(shapes=(1.0,), rates=(1e12,)))
    check_predictions(model(leaf=leaf, limiting_linear=False, priors=priors).fit(rows, y), rows)


def test_a_nugget_of_zero_on_duplicate_rows_is_a_typed_error_or_works():
    rows, y = np.repeat(X[:10], 4, axis=0), np.repeat(Y[:10], 4)
    singular = model(limiting_linear=False, priors=Priors(nugget=NuggetPrior(fixed=0.0)))
    with pytest.raises(TreedGPError, match=r"nugget|duplicate"):
        singular.fit(rows, y)


@pytest.mark.parametrize("kind", ["hierarchical", "flat", "fixed"])
@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("value", [0.0, 3.0, 0.1, -1e12, 1e-12])
def test_a_constant_response_is_predicted(leaf, kind, value):
    """Long enough for the noise to shrink as far as it will."""
    fitted = model(leaf=leaf, draws=300, tune=300, priors=Priors(coefficients=CoefficientPrior(kind=kind)))
    mean, std = check_predictions(fitted.fit(X, np.full(40, value)), X)
    assert mean == pytest.approx(np.full(40, value), abs=0.05)
    assert (std < 0.1).all()


def test_a_huge_constant_response_is_predicted():
    mean, _ = check_predictions(model(leaf="linear").fit(X, np.full(40, 1e300)), X)
    assert mean == pytest.approx(np.full(40, 1e300), rel=1e-12)


@pytest.mark.parametrize("min_leaf", [41, 2**31 - 1])
def test_leaves_that_must_hold_more_than_all_rows_are_no_split(min_leaf):
    fitted = model(leaf="linear", priors=Priors(tree=TreePrior(min_leaf=min_leaf))).fit(X, Y)
    assert (fitted.posterior_.n_leaves == 1).all()
    assert any("40 rows are too few for a split" in str(finding) for finding in fitted.posterior_.health())


@pytest.mark.parametrize("kind", ["hierarchical", "flat", "fixed"])
@pytest.mark.parametrize("leaf", ["gp", "linear"])
def test_a_response_without_noise_is_predicted(leaf, kind):
    """The posterior of the noise piles up at 0: it must not run away to where arithmetic ends."""
    exact = 1 + X @ [2.0, -1.0]
    fitted = model(leaf=leaf, draws=2000, tune=500, priors=Priors(coefficients=CoefficientPrior(kind=kind)))
    mean, std = check_predictions(fitted.fit(X, exact), X)
    assert mean == pytest.approx(exact, abs=1e-3)
    assert (std < 0.05).all()
    half = fitted.posterior_.log_posterior.reshape(2, 2, 1000).mean(axis=(0, 2))
    assert abs(half[1] - half[0]) < 100  # no drift: thousands where the noise has no floor


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e-100, 1e100])
def test_scales_of_the_response(leaf, scale):
    plain = model(leaf=leaf).fit(X, Y).predict(X, return_std=True)
    mean, std = check_predictions(model(leaf=leaf).fit(X, scale * Y), X)
    assert mean / scale == pytest.approx(plain[0], rel=1e-5, abs=1e-6)
    assert std / scale == pytest.approx(plain[1], rel=1e-4)


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e-300, 1e300])
def test_scales_of_the_inputs(leaf, scale):
    plain = model(leaf=leaf).fit(X, Y).predict(X)
    mean, _ = check_predictions(model(leaf=leaf).fit(scale * X, Y), scale * X)
    assert mean == pytest.approx(plain, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("offset", [1e6, -1e9])
def test_offsets_lose_only_the_digits_they_must(leaf, offset):
    plain = model(leaf=leaf).fit(X, Y).predict(X)
    mean, _ = check_predictions(model(leaf=leaf).fit(X + offset, Y + offset), X + offset)
    assert mean - offset == pytest.approx(plain, abs=0.05)


def test_columns_of_very_different_scales():
    mixed = X * [1e-12, 1e12]
    mean, _ = check_predictions(model().fit(mixed, Y), mixed)
    assert mean == pytest.approx(model().fit(X, Y).predict(X), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("leaf", LEAVES)
def test_one_wild_value(leaf):
    y = Y.copy()
    y[7] = 1e9
    mean, _ = check_predictions(model(leaf=leaf).fit(X, y), X)
    assert (np.abs(mean) < 2e9).all()


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, bool, object])
def test_other_number_types_are_converted(dtype):
    numbers = (X * 10).astype(dtype)
    mean, _ = check_predictions(model().fit(numbers, Y.astype(np.float32)), numbers)
    expected = model().fit(numbers.astype(float), Y.astype(np.float32).astype(float)).predict(numbers.astype(float))
    assert np.array_equal(mean, expected)


@pytest.mark.parametrize("leaf", LEAVES)
def test_tuning_may_be_left_out(leaf):
    check_predictions(model(leaf=leaf, tune=0, draws=5).fit(X, Y), X)


def test_one_draw_of_one_chain():
    fitted = model(chains=1, draws=1, tune=0).fit(X, Y)
    check_predictions(fitted, X)
    assert np.isnan(fitted.posterior_.summary()["rhat"]).all()


@pytest.mark.parametrize("levels", [1, 40])
def test_a_category_of_one_level_or_of_one_row_each(levels):
    data = np.column_stack([X, np.arange(40) % levels])
    check_predictions(model(categorical_features=[2]).fit(data, Y), data)


@pytest.mark.parametrize("split", [[], np.zeros(2, bool)])
def test_no_split_column_is_no_tree(split):
    fitted = model(split_features=split).fit(X, Y)
    assert (fitted.posterior_.n_leaves == 1).all()
    check_predictions(fitted, X)
