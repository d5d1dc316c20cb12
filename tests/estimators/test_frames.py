"""Data frames and categorical inputs through the regressor and scikit-learn's tools."""

import inspect
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treedgp import ConfigError, DataError, Priors, TreedGPRegressor, TreePrior

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

SHORT = {"leaf": "linear", "chains": 1, "draws": 40, "tune": 80, "random_state": 0}
LEVELS = np.array(["blue", "green", "red"])


def data(n=90, seed=0):
    """The colour decides the level and the slope; `wet` and `noise` do nothing."""
    rng = np.random.default_rng(seed)
    x, colour = rng.uniform(size=n), np.arange(n) % 3
    f = np.array([0.0, 2.0, 5.0])[colour] + np.array([3.0, -3.0, 0.0])[colour] * x
    frame = pd.DataFrame({"x": x, "colour": LEVELS[colour], "wet": rng.random(n) < 0.5, "noise": rng.normal(size=n)})
    return frame, pd.Series(f + 0.1 * rng.standard_normal(n), name="y")


def model(**settings):
    return TreedGPRegressor(**SHORT | settings)


def encoder_of(fitted):
    return fitted.posterior_.predictor.problem.encoder


@pytest.fixture(scope="module")
def fitted():
    return model(draws=200, tune=400).fit(*data())


# --- frames ---


def test_a_frame_fits_out_of_the_box_and_finds_the_category(fitted):
    X, y = data()
    assert fitted.score(X, y) > 0.95
    assert fitted.feature_names_in_.tolist() == ["x", "colour", "wet", "noise"]
    assert fitted.n_features_in_ == 4
    encoder = encoder_of(fitted)
    assert [column.name for column in encoder.columns] == ["x", "colour", "wet", "noise"]
    assert encoder.columns[1].labels == ("blue", "green", "red")
    assert encoder.columns[2].labels == ("False", "True")
    assert encoder.leaf == (0, 3)
    assert encoder.split == (0, 1, 2, 3)


def test_a_frame_gives_what_its_numbers_give(fitted):
    X, y = data()
    numbers = X.assign(colour=X["colour"].map({"blue": 0, "green": 1, "red": 2})).to_numpy(dtype=float)
    by_numbers = model(draws=200, tune=400, categorical_features=[1, 2]).fit(numbers, y)
    assert np.array_equal(by_numbers.predict(numbers), fitted.predict(X))


@pytest.mark.parametrize(
    "dtype", ["object", "string", "category", pd.CategoricalDtype(["blue", "green", "red"])], ids=str
)
def test_every_kind_of_text_column_gives_the_same_fit(fitted, dtype):
    X, y = data()
    other = X.assign(colour=X["colour"].astype(dtype))
    assert np.array_equal(model(draws=200, tune=400).fit(other, y).predict(other), fitted.predict(X))
    assert np.array_equal(fitted.predict(other), fitted.predict(X))


def test_levels_follow_the_declared_order_into_the_leaves():
    X, y = data()
    X["colour"] = pd.Categorical(X["colour"], categories=["red", "none", "blue", "green"])
    fitted = model(leaf_features=["x", "colour"]).fit(X, y)
    assert encoder_of(fitted).leaf_names() == ["x", "colour=blue", "colour=green"]  # red, the first, is dropped


@pytest.mark.parametrize(
    "y",
    [data()[1].astype("Float64"), data()[1].astype(object), data()[1].array, data()[1].tolist(), data()[1].astype(str)],
)
def test_the_response_may_be_of_any_numeric_form(y):
    X, plain = data()
    assert np.array_equal(model().fit(X, y).predict(X), model().fit(X, plain).predict(X))


def test_rows_are_matched_by_position_not_by_index():
    X, y = data()
    assert np.array_equal(
        model().fit(X, y[::-1].set_axis(y.index)).predict(X), model().fit(X, y.to_numpy()[::-1]).predict(X)
    )
    assert np.array_equal(model().fit(X.set_axis(y.index[::-1]), y).predict(X), model().fit(X, y).predict(X))


def test_integer_column_names_are_no_feature_names_but_are_checked():
    X, y = data()
    X.columns = [10, 11, 12, 13]
    fitted = model(split_features=[1]).fit(X, y)  # integers are positions
    assert not hasattr(fitted, "feature_names_in_")
    assert encoder_of(fitted).split == (1,)
    with pytest.raises(DataError, match="another order"):
        fitted.predict(X[[11, 10, 12, 13]])


def test_a_frame_of_numbers_only_is_the_array():
    X, y = data()
    X = X[["x", "noise"]]
    fitted = model().fit(X, y)
    assert np.array_equal(fitted.predict(X), model().fit(X.to_numpy(), y).predict(X.to_numpy()))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(fitted.predict(X.to_numpy()), fitted.predict(X))


def test_new_rows_of_a_mixed_model_may_be_an_object_array_or_a_list(fitted):
    X, _ = data()
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert np.array_equal(fitted.predict(X.to_numpy(dtype=object)), fitted.predict(X))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert fitted.predict([[0.5, "red", True, 0.0]]).shape == (1,)


def test_a_fitted_model_survives_pickle(fitted):
    X, _ = data()
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))


# --- polars ---


@pytest.fixture
def pl():
    return pytest.importorskip("polars", reason="polars is not installed")


def as_polars(pl, frame):
    return pl.DataFrame({name: frame[name].tolist() for name in frame.columns})


@pytest.mark.parametrize("kind", ["String", "Categorical", "Enum"])
def test_polars_gives_what_pandas_gives(pl, fitted, kind):
    X, y = data()
    dtype = {"String": pl.String, "Categorical": pl.Categorical, "Enum": pl.Enum(["blue", "none", "green", "red"])}[
        kind
    ]
    other = as_polars(pl, X).with_columns(pl.col("colour").cast(dtype))
    again = model(draws=200, tune=400).fit(other, pl.Series(y.tolist()))
    assert again.feature_names_in_.tolist() == X.columns.tolist()
    assert np.array_equal(again.predict(other), fitted.predict(X))
    assert np.array_equal(again.predict(X), fitted.predict(other))


def test_polars_enum_order_nulls_and_errors(pl):
    X, y = data()
    other = as_polars(pl, X).with_columns(pl.col("colour").cast(pl.Enum(["red", "none", "blue", "green"])))
    missing = other.with_columns(pl.when(pl.col("x") < 0.3).then(None).otherwise(pl.col("colour")).alias("colour"))
    assert encoder_of(model().fit(missing, y)).columns[1].labels == ("red", "blue", "green", "missing")
    with pytest.raises(DataError, match=r"NaN.*column 'x' \(row"):
        model().fit(other.with_columns(pl.when(pl.col("x") > 0.3).then(pl.col("x")).alias("x")), y)
    with pytest.raises(DataError, match="dates or times in column 'when'"):
        model().fit(other.with_columns(pl.lit("2020-01-01").str.to_date().alias("when")), y)
    with pytest.raises(DataError, match="'nested'"):
        model().fit(other.with_columns(pl.concat_list("x", "noise").alias("nested")), y)
    with pytest.raises(DataError, match=r"collect\(\)"):
        model().fit(other.lazy(), y)
    with pytest.raises(DataError, match=r"y contains NaN.*row 0"):
        model().fit(other, pl.Series([None, *y.tolist()[1:]]))


# --- missing and unseen ---


def test_a_missing_category_is_a_level_of_its_own():
    X, y = data(120)
    gone = np.arange(120) % 4 == 0
    X["colour"] = X["colour"].where(~gone, None)
    y = y.where(~gone, 20.0)
    fitted = model(draws=200, tune=400, leaf="constant", split_features=["colour"]).fit(X, y)
    assert encoder_of(fitted).columns[1].labels[-1] == "missing"
    assert fitted.predict(X[gone]) == pytest.approx(np.full(gone.sum(), 20.0), abs=1)


def test_an_unseen_level_warns_once_and_takes_the_rest_side():
    X, y = data()
    two = X["colour"] != "green"
    priors = Priors(tree=TreePrior(max_depth=1))
    fitted = model(leaf="constant", split_features="categorical", priors=priors).fit(X[two], y[two])
    new = X[two].head(2).assign(colour=["pink", None], wet=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted.predict(new)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert "column 'colour': 'pink', missing" in str(caught[0].message)
    assert "rest side" in str(caught[0].message)
    predictor = fitted.posterior_.predictor
    by_draw = predictor.mean_by_draw(np.array([[0.5, 0, 1, 0], [0.5, 1, 1, 0], [0.5, -1, 1, 0]]))
    arrays = predictor.draws.arrays
    roots = arrays["node_start"][:-1]
    on_colour = arrays["column"][roots] == 0  # the first split column
    assert on_colour.mean() > 0.9
    left = arrays["cut"][roots][on_colour]
    rest = np.where(left == 0, by_draw[on_colour, 1], by_draw[on_colour, 0])
    assert np.array_equal(by_draw[on_colour, 2], rest)


def test_a_missing_number_is_named_and_imputing_is_the_way_out(fitted):
    X, y = data()
    holes = X.copy()
    holes.loc[[3, 5], "x"] = np.nan
    for call in (lambda: model().fit(holes, y), lambda: fitted.predict(holes)):
        with pytest.raises(DataError, match=r"NaN.*column 'x' \(rows 3, 5\).*sklearn\.impute"):
            call()
    impute = make_column_transformer(
        (SimpleImputer(), ["x"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    assert make_pipeline(impute, model()).fit(holes, y).predict(holes).shape == (90,)


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (data()[1].where(np.arange(90) != 4), r"y contains NaN.*row 4"),
        (data()[1][:-1], "inconsistent numbers of samples"),
        (pd.Series(["a"] * 90), "Expected numbers in y, got 'a'"),
        (None, "requires y"),
    ],
    ids=["missing", "short", "text", "none"],
)
def test_a_bad_response_is_refused(y, words):
    with pytest.raises(ValueError, match=words):
        model().fit(data()[0], y)


# --- columns that are not what they were ---


def test_columns_are_checked_at_predict(fitted):
    X, _ = data()
    with pytest.raises(ValueError, match="same order"):
        fitted.predict(X[["colour", "x", "wet", "noise"]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- sound"):
        fitted.predict(X.rename(columns={"noise": "sound"}))
    with pytest.raises(ValueError, match="seen at fit time, yet now missing"):
        fitted.predict(X[["x", "colour", "wet"]])
    with pytest.raises(DataError, match=r"'x' is numeric in training: expected numbers, got.*'a'"):
        fitted.predict(X.assign(x="a"))
    with pytest.raises(DataError, match=r"'colour' are text in training: expected the same, got numbers"):
        fitted.predict(X.assign(colour=1.0))
    with pytest.raises(DataError, match="minimum of 1 is required"):
        fitted.predict(X[:0])


def test_text_that_is_not_categorical_is_an_error():
    X, y = data()
    with pytest.raises(DataError, match="got text in column 'colour'"):
        model(categorical_features=None).fit(X, y)
    with pytest.raises(DataError, match=r"could not convert string.*data frame"):
        model().fit(X.to_numpy(dtype=object), y)


def test_dates_and_sparse_matrices_are_refused():
    X, y = data()
    with pytest.raises(DataError, match=r"dates or times in column 'when'.*days since"):
        model().fit(X.assign(when=pd.Timestamp("2020-01-01")), y)
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        model().fit(sparse.csr_matrix(X[["x", "noise"]].to_numpy()), y)


def test_a_failed_refit_leaves_the_first_fit_usable():
    X, y = data()
    fitted = model().fit(X, y)
    before = fitted.predict(X)
    with pytest.raises(DataError):
        fitted.fit(X.assign(x=np.nan), y)
    assert np.array_equal(fitted.predict(X), before)


def test_sample_weight_is_not_a_parameter():
    X, y = data()
    assert "sample_weight" not in inspect.signature(TreedGPRegressor.fit).parameters
    with pytest.raises(TypeError, match="sample_weight"):
        model().fit(X, y, sample_weight=np.ones(90))


# --- columns by name ---


def test_columns_by_name_are_columns_by_index():
    X, y = data()
    by_name = model(categorical_features=["colour", "wet"], split_features=["colour", "x"], leaf_features=["x", "wet"])
    by_index = model(categorical_features=[1, 2], split_features=[0, 1], leaf_features=[0, 2])
    assert np.array_equal(by_name.fit(X, y).predict(X), by_index.fit(X, y).predict(X))
    encoder = encoder_of(by_name)
    assert (encoder.split, encoder.leaf) == ((0, 1), (0, 2))
    assert encoder.leaf_names() == ["x", "wet=True"]


def test_only_the_categorical_columns_split_if_asked():
    assert encoder_of(model(split_features="categorical").fit(*data())).split == (1, 2)


@pytest.mark.parametrize("argument", ["categorical_features", "split_features", "leaf_features"])
def test_a_misspelt_name_is_guessed(argument):
    with pytest.raises(ConfigError, match=f"{argument}.*got 'color'. Did you mean 'colour'"):
        model(**{argument: ["color"]}).fit(*data())


# --- scikit-learn's tools ---


def test_pipeline_and_column_transformer():
    X, y = data()
    scale = make_column_transformer(
        (StandardScaler(), ["x", "noise"]), remainder="passthrough", verbose_feature_names_out=False
    ).set_output(transform="pandas")
    pipeline = make_pipeline(scale, model(split_features=["colour"])).fit(X, y)
    assert pipeline.score(X, y) > 0.8
    assert pipeline[-1].feature_names_in_.tolist() == ["x", "noise", "colour", "wet"]
    assert encoder_of(pipeline[-1]).columns[2].labels == ("blue", "green", "red")


def test_grid_search_over_a_frame():
    search = GridSearchCV(model(), {"split_features": [["noise"], ["colour"]], "input_scaling": ["minmax"]}, cv=3)
    X, y = data()
    order = np.random.default_rng(0).permutation(90)
    assert search.fit(X.iloc[order], y.iloc[order]).best_params_["split_features"] == ["colour"]


def test_cross_validation_in_two_processes():
    X, y = data()
    two = cross_val_score(model(), X, y, cv=3, n_jobs=2)
    assert np.array_equal(two, cross_val_score(model(), X, y, cv=3))


# --- quantile scaling ---


@pytest.mark.parametrize("leaf", ["gp", "linear"])
def test_with_quantile_scaling_a_monotone_transform_changes_nothing(leaf):
    X, y = data()
    settings = {"leaf": leaf, "input_scaling": "quantile"}
    fitted = model(**settings).fit(X, y)
    skewed = X.assign(x=np.exp(8 * X["x"]))
    again = model(**settings).fit(skewed, y)
    assert np.array_equal(again.predict(skewed), fitted.predict(X))
    assert not np.array_equal(model(leaf=leaf).fit(skewed, y).predict(skewed), model(leaf=leaf).fit(X, y).predict(X))


def test_thresholds_are_in_the_users_units_for_both_scalings():
    rng = np.random.default_rng(0)
    x = rng.lognormal(5, 2, size=80)
    y = np.where(x > np.median(x), 5.0, 0.0) + 0.1 * rng.standard_normal(80)
    middle = np.sort(x)[39:41].mean()
    for scaling in ("minmax", "quantile"):
        fitted = model(leaf="constant", tune=400, input_scaling=scaling).fit(pd.DataFrame({"income": x}), y)
        arrays = fitted.posterior_.draws.arrays
        roots = arrays["node_start"][:-1]
        thresholds = encoder_of(fitted).columns[0].thresholds[arrays["cut"][roots][arrays["column"][roots] == 0]]
        assert np.median(thresholds) == pytest.approx(middle)


def test_quantile_scaling_is_flat_outside_the_training_range():
    X, y = data()
    fitted = model(leaf="gp", tree=False, input_scaling="quantile").fit(X[["x"]], y)
    edge = fitted.predict(pd.DataFrame({"x": [X["x"].max(), 1e3, 1e9]}))
    assert edge == pytest.approx(np.full(3, edge[0]), abs=1e-9)
