"""Mistakes of newcomers in Python: each message says what was expected, what came and what to do."""

import time
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import treedgp
from treedgp import (
    CoefficientPrior,
    ConfigError,
    DataError,
    FormatError,
    LengthscalePrior,
    LimitingPrior,
    NoisePrior,
    NuggetPrior,
    Priors,
    TreedGPClassifier,
    TreedGPRegressor,
    TreePrior,
)
from treedgp.estimators import limits
from treedgp.estimators.inputs import InputSchema

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

N = 40
RNG = np.random.default_rng(0)
X = pd.DataFrame({"width": RNG.uniform(size=N), "weight": RNG.uniform(size=N), "kind": ["a", "b"] * (N // 2)})
Y = X["width"] + (X["kind"] == "a") + 0.1 * RNG.standard_normal(N)


def model(**settings):
    return TreedGPRegressor(**{"draws": 20, "tune": 20, "chains": 2, "random_state": 0} | settings)


def with_hole(values, row=3):
    return np.where(np.arange(N) == row, np.nan, values)


TWINS = X.set_axis(["width", "width", "kind"], axis=1)

# What is done, the error, and words of its message in their order.
FIT = {
    "no y": (lambda: model().fit(X, None), DataError, r"requires y.*Give y, one value for each row of X"),
    "y of another length": (
        lambda: model().fit(X, Y[:-1]),
        DataError,
        r"\[40, 39\]\. Give one value of y for each row of X",
    ),
    "one axis": (
        lambda: model().fit(X["width"].to_numpy(), Y),
        DataError,
        r"Expected 2D array, got 1D array instead\. Reshape.*Give a data frame",
    ),
    "complex numbers": (
        lambda: model().fit(X[["width"]].to_numpy() + 1j, Y),
        DataError,
        r"^Complex data not supported\. Give a data frame",
    ),
    "a masked array": (
        lambda: model().fit(np.ma.masked_array(np.ones((N, 2)), np.arange(2 * N).reshape(N, 2) == 7), Y),
        DataError,
        r"X has masked values in row 3, counted from 0.*Fill them in",
    ),
    "names of two types": (
        lambda: model().fit(X.set_axis([0, "weight", "kind"], axis=1), Y),
        DataError,
        r"string names.*Give all columns names of one type\.$",
    ),
    "integers beyond 64 bits": (
        lambda: model().fit(X.assign(weight=pd.Series([10**25 + i for i in range(N)], dtype=object)), Y),
        DataError,
        r"'weight': expected integer levels of at most 64 bits, got larger ones\. Use text",
    ),
    "decimals": (
        lambda: model().fit(X.assign(weight=[Decimal(i) for i in range(N)]), Y),
        DataError,
        r"'weight': expected levels.*got Decimal\('0'\).*Convert.*to numbers: X\['weight'\]\.astype\(float\)",
    ),
    "fractions": (
        lambda: model().fit(X.assign(weight=[Fraction(i, 3) for i in range(N)]), Y),
        DataError,
        r"got Fraction\(0, 1\).*to numbers: X\['weight'\]\.astype\(float\)",
    ),
    "misspelled column": (
        lambda: model(categorical_features=["knd"]).fit(X, Y),
        ConfigError,
        r"categorical_features: expected names of columns.*got 'knd'.*Did you mean 'kind'",
    ),
    "a column that is not there": (
        lambda: model(split_features=["price"]).fit(X, Y),
        ConfigError,
        r"split_features: expected.*got 'price'.*The columns are 'width', 'weight', 'kind'",
    ),
    "one name instead of a list": (
        lambda: model(leaf_features="width").fit(X, Y),
        ConfigError,
        r"leaf_features must be.*got 'width'.*write \['width'\]",
    ),
    "text among the numbers of an array": (
        lambda: model().fit(X.to_numpy(), Y),
        DataError,
        r"Expected an array of numbers, got text.*data frame.*set_output",
    ),
    "text in a column declared numeric": (
        lambda: model(categorical_features=None).fit(X, Y),
        DataError,
        r"Expected numbers.*got text in column 'kind'.*convert them",
    ),
    "an empty column": (
        lambda: model().fit(X.assign(weight=np.nan), Y),
        DataError,
        r"NaN.*column 'weight' \(every row\).*expected finite numbers.*drop the rows or columns",
    ),
    "a missing number": (
        lambda: model().fit(X.assign(weight=with_hole(X["weight"])), Y),
        DataError,
        r"NaN.*column 'weight' \(row 3\).*expected finite.*Impute",
    ),
    "a missing response": (
        lambda: model().fit(X, with_hole(Y)),
        DataError,
        r"y contains NaN.*row 3.*expected finite numbers.*Drop these rows",
    ),
    "classes as a response": (
        lambda: model().fit(X[["width"]], X["kind"]),
        DataError,
        r"Expected numbers in y, got 'a'.*Convert y",
    ),
    "dates": (
        lambda: model().fit(X.assign(day=pd.Timestamp("2020-01-01")), Y),
        DataError,
        r"Expected numbers or levels, got dates.*'day'.*Turn a date",
    ),
    "duplicate names": (
        lambda: model().fit(TWINS, Y),
        DataError,
        r"Expected columns of different names, got 'width' more than once: rename",
    ),
    "no rows": (lambda: model().fit(X.iloc[:0], Y[:0]), DataError, r"shape \(0, 3\).*minimum of 1 is required"),
    "a response too short": (lambda: model().fit(X, Y[:-1]), ValueError, r"inconsistent numbers of samples.*40, 39"),
    "one column without brackets": (
        lambda: model().fit(X["width"], Y),
        ValueError,
        r"Expected.*(2D array|2-dimensional)",
    ),
    "negative draws": (lambda: model(draws=-5).fit(X, Y), ConfigError, r"draws must be an integer.*1, got -5"),
    "draws of another type": (lambda: model(draws=1e3).fit(X, Y), ConfigError, r"draws must be an integer.*got 1000.0"),
    "a misspelled leaf": (lambda: model(leaf="GP").fit(X, Y), ConfigError, r"leaf must be one of.*gp.*got 'GP'"),
    "a misspelled setting": (lambda: model().set_params(drows=5), ValueError, r"(?s)'drows'.*Valid parameters.*draws"),
    "a misspelled preset": (lambda: treedgp.preset("btpg"), ConfigError, r"preset must be one of.*btgp.*got 'btpg'"),
    "a preset with R's arguments": (
        lambda: treedgp.preset("btgp", basemax=10),
        ConfigError,
        r"takes arguments of TreedGPRegressor, got basemax.*leaf_features",
    ),
    "priors by name": (
        lambda: model(priors="flat").fit(X, Y),
        ConfigError,
        r"priors must be.*Priors.*got 'flat'",
    ),
}


@pytest.mark.parametrize("mistake", FIT)
def test_a_mistaken_fit_is_explained(mistake):
    act, error, words = FIT[mistake]
    with pytest.raises(error, match=words):
        act()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: TreePrior(alpha=1.5), r"alpha must lie in \(0, 1\), got 1.5"),
        (lambda: TreePrior(beta=-1), "beta must be >= 0, got -1"),
        (lambda: TreePrior(min_leaf=0), "min_leaf must be None or an integer from 1 to 2147483647, got 0"),
        (lambda: NuggetPrior(shapes=(1.0, 2.0)), "same length, got"),
        (lambda: NuggetPrior(fixed=[1, 2]), r"fixed must be one number >= 0, got \[1, 2\]"),
        (lambda: LengthscalePrior(fixed=0), "fixed must be one number > 0, got 0"),
        (lambda: LengthscalePrior(fixed=-1), "fixed must be one number > 0, got -1"),
        (lambda: NoisePrior(a=-1), "must be positive, got -1"),
        (lambda: CoefficientPrior(kind="ridge"), "kind must be one of hierarchical, flat, fixed, got 'ridge'"),
        (lambda: LimitingPrior(theta1=0.5, theta2=0.6), r"theta1 \+ theta2 < 1, got"),
        (lambda: Priors(tree=0.5), "tree must be a TreePrior, got 0.5"),
    ],
)
def test_an_impossible_prior_is_explained(make, words):
    with pytest.raises(ConfigError, match=words):
        make()


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, Y)


PREDICT = {
    "before the fit": (lambda m: model().predict(X), NotFittedError, "not fitted"),
    "a missing column": (
        lambda m: m.predict(X[["width", "kind"]]),
        ValueError,
        r"missing:\n- weight\nSelect the training columns",
    ),
    "a masked array": (
        lambda m: m.predict(np.ma.masked_array(X.to_numpy(), np.arange(3 * N).reshape(N, 3) == 9)),
        DataError,
        "X has masked values in row 3",
    ),
    "another order": (lambda m: m.predict(X[["kind", "width", "weight"]]), ValueError, r"order"),
    "an extra column": (lambda m: m.predict(X.assign(y=Y)), ValueError, r"(?s)unseen.*y"),
    "a missing number": (
        lambda m: m.predict(X.assign(width=with_hole(X["width"]))),
        DataError,
        r"column 'width' \(row 3\).*Impute",
    ),
    "text for numbers": (
        lambda m: m.predict(X.assign(width="wide")),
        DataError,
        r"'width' is numeric in training: expected numbers, got.*'wide'.*Convert",
    ),
    "numbers for levels": (
        lambda m: m.predict(X.assign(kind=1)),
        DataError,
        r"levels of column 'kind' are text in training: expected the same, got numbers.*Convert",
    ),
    "a level in percent": (
        lambda m: m.predict_interval(X, 90),
        ConfigError,
        r"level must be a number between 0 and 1, got 90. Write 0.9 for 90%",
    ),
    "a level of almost 1": (
        lambda m: m.predict_interval(X, 1 - 1e-16),
        ConfigError,
        r"level must differ from 0 and 1.*got 0\.9999999999999999.*quantiles .* 1\.0\. Write",
    ),
    "a level of almost 0": (
        lambda m: m.predict_interval(X, 1e-17),
        ConfigError,
        r"level must differ from 0 and 1.*got 1e-17.*quantiles 0\.5 and 0\.5\.",
    ),
    "sd and covariance": (
        lambda m: m.predict(X, return_std=True, return_cov=True),
        ConfigError,
        "return_std or return_cov, not both; call it twice",
    ),
    "a tree of a class": (lambda m: m.posterior_.map_trees("a"), ConfigError, "expected None, got 'a'. Leave it out"),
    "splits on no column": (
        lambda m: m.posterior_.split_points("price"),
        ConfigError,
        "got 'price'. Those columns are: width, weight, kind",
    ),
}


@pytest.mark.parametrize("mistake", PREDICT)
def test_a_mistaken_question_is_explained(fitted, mistake):
    act, error, words = PREDICT[mistake]
    with pytest.raises(error, match=words):
        act(fitted)


def test_an_unseen_level_is_a_warning_that_names_it(fitted):
    with pytest.warns(UserWarning, match=r"not seen in training in column 'kind': 'c'.*rest side"):
        fitted.predict(X.assign(kind="c"))


# --- files ---


def test_a_file_of_another_kind_is_explained(tmp_path, fitted):
    X.to_csv(tmp_path / "data.csv")
    with pytest.raises(FormatError, match=r"data.csv cannot be read.*Expected a file written by save.*give its path"):
        treedgp.load(tmp_path / "data.csv")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(FormatError, match=r"other.npz.*not treedgp's|other.npz.*compressed"):
        treedgp.load(tmp_path / "other.npz")
    with pytest.raises(FileNotFoundError, match=r"none\.npz"):
        treedgp.load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    "write",
    [lambda m, to: m.save(to), lambda m, to: m.report(to), lambda m, to: model(draws=10**6).fit(X, Y, checkpoint=to)],
    ids=["save", "report", "checkpoint"],
)
def test_a_folder_to_write_to_is_explained(tmp_path, fitted, write):
    with pytest.raises(ConfigError, match=r"Expected the name of a file to write, got the folder.*Add a file name"):
        write(fitted, tmp_path)
    with pytest.raises(ConfigError, match=r"folder that exists, got.*there is no folder .*none\. Make it first"):
        write(fitted, tmp_path / "none" / "model.npz")


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_model_is_explained(tmp_path, fitted, damage):
    path = tmp_path / "model.npz"
    fitted.save(path)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[: len(data) // 2]
    else:
        data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"model.npz.*(write it again|save the model again|checksum)"):
        treedgp.load(path)


# --- slips that have a meaning, though hardly the one that was meant ---


def slipped():
    return X.assign(weight=[*X["weight"][:-1], "n.b."])


def test_a_text_among_numbers_is_a_warning_at_the_users_line():
    with pytest.warns(UserWarning, match=r"'weight' mixes numbers with text such as 'n\.b\.'.*39.*Expected") as caught:
        model().fit(slipped(), Y)
    assert {w.filename for w in caught if "mixes" in str(w.message)} == {__file__}


@pytest.mark.parametrize(
    ("data", "settings"),
    [
        (slipped(), {"categorical_features": ["weight", "kind"]}),  # as asked
        (X.assign(weight=[1, "a"] * (N // 2)), {}),  # as many texts as numbers: levels
        (X.assign(weight=pd.Categorical([1, 2, 3, "a"] * (N // 4))), {}),  # declared
    ],
)
def test_mixtures_that_were_meant_are_no_warning(data, settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model(**settings).fit(data, Y)
    assert not [w for w in caught if "mixes" in str(w.message)]


IDS = 2**60 + np.arange(N)  # a few floats


@pytest.mark.parametrize(
    ("data", "settings", "name"),
    [
        (X.assign(weight=IDS), {}, "weight"),
        (np.column_stack([IDS, IDS % 7]), {}, "x0"),
        (np.column_stack([IDS, IDS % 7]), {"categorical_features": [0]}, "x0"),
    ],
    ids=["frame", "array", "categories of an array"],
)
def test_integers_that_are_the_same_float_are_a_warning_at_the_users_line(data, settings, name):
    with pytest.warns(UserWarning, match=f"'{name}' has different integers that are equal.*Subtract") as caught:
        model(**settings).fit(data, Y)
    assert [w.filename for w in caught if "integers" in str(w.message)] == [__file__]


@pytest.mark.parametrize(
    ("data", "settings"),
    [
        (X.assign(weight=IDS), {"categorical_features": ["weight", "kind"]}),  # levels keep every digit
        (X.assign(weight=2.0**60 * X["weight"]), {}),
        (X.assign(weight=2**60 * np.arange(N)), {}),
    ],
)
def test_large_numbers_that_stay_apart_are_no_warning(data, settings):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model(**settings).fit(data, Y)
    assert not [w for w in caught if "integers" in str(w.message)]


def test_more_rows_than_memory_holds_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr(limits, "physical_memory", lambda: 8 * 40**2 * 2 - 1)
    with pytest.raises(DataError, match=r"on 40 rows needs .* GB for 2 chain.*expected at most.*fewer rows.*linear"):
        model(n_jobs=2).fit(X, Y)
    assert model(leaf="linear", n_jobs=2).fit(X, Y).posterior_.n_leaves.size
    assert model(n_jobs=1).fit(X, Y).posterior_.n_leaves.size  # one chain at a time
    with pytest.raises(DataError, match=r"on 40 rows needs .* leaf='constant'"):
        TreedGPClassifier(draws=10, tune=10).fit(X, np.arange(40) % 4)  # a process a class


def test_a_hundred_thousand_rows_are_refused_on_this_machine():
    rows = RNG.uniform(size=(100_000, 2))
    if (limits.physical_memory() or 0) > 75e9:
        pytest.skip("this machine could hold it")
    with pytest.raises(DataError, match=r"100000 rows needs 80 GB.*maximum_entropy"):
        model(chains=4).fit(rows, rows[:, 0])


def test_many_rows_in_one_region_are_a_warning(monkeypatch):
    monkeypatch.setattr(limits, "SLOW_ROWS", 10)
    with pytest.warns(UserWarning, match=r"40 rows start in one region.*n\^3.*fewer rows") as caught:
        model().fit(X, Y)
    assert {w.filename for w in caught if "one region" in str(w.message)} == {__file__}


def test_levels_are_looked_up_not_searched_for():
    """20,000 rows of as many levels: half a minute where every row is compared with every level."""
    names = pd.DataFrame({"who": [f"person {i}" for i in range(20_000)]})
    schema = InputSchema.learn(names)
    began = time.process_time()
    codes = schema.read(names)[:, 0]
    assert sorted(codes) == list(range(20_000))
    assert time.process_time() - began < 5  # 0.1 where they are looked up
