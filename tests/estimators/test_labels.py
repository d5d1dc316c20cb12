"""Labels of every kind, rare classes, many classes; and what is no label is refused in words."""

import datetime as dt
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import DataConversionWarning

from treedgp import DataError, FormatError, TreedGPClassifier
from treedgp.estimators.labels import labels_from_json, labels_to_json, read_labels

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

X = np.linspace(0, 1, 30)[:, None]
HALF = (X[:, 0] > 0.5).astype(int)
WORDS = np.array(["no", "yes"])[HALF]


def model(**settings):
    return TreedGPClassifier(**{"chains": 1, "draws": 20, "tune": 40, "random_state": 0} | settings)


def polars(values, dtype=None):
    pl = pytest.importorskip("polars")
    return pl.Series("y", list(values), dtype=getattr(pl, dtype) if isinstance(dtype, str) else dtype)


def polars_enum():
    pl = pytest.importorskip("polars")
    return pl.Series("y", WORDS.tolist(), dtype=pl.Enum(["yes", "no", "maybe"]))


# how y comes, dtype of classes_, classes_
LABELS = {
    "text": (lambda: WORDS, "<U3", ["no", "yes"]),
    "wide text": (lambda: WORDS.astype("<U20"), "<U20", ["no", "yes"]),
    "objects": (lambda: WORDS.astype(object), "object", ["no", "yes"]),
    "text of NumPy among objects": (lambda: np.array([np.str_(w) for w in WORDS], object), "object", ["no", "yes"]),
    "list": (lambda: WORDS.tolist(), "<U3", ["no", "yes"]),
    "tuple": (lambda: tuple(HALF.tolist()), "int64", [0, 1]),
    "integers": (lambda: HALF * 7 - 3, "int64", [-3, 4]),
    "small integers": (lambda: HALF.astype(np.int8), "int8", [0, 1]),
    "unsigned": (lambda: 2**63 + HALF.astype(np.uint64), "uint64", [2**63, 2**63 + 1]),
    "other byte order": (lambda: HALF.astype(">i4"), ">i4", [0, 1]),
    "booleans": (lambda: HALF == 1, "bool", [False, True]),
    "booleans among objects": (lambda: (HALF == 1).astype(object), "bool", [False, True]),
    "integers among objects": (lambda: HALF.astype(object), "int64", [0, 1]),
    "whole floats": (lambda: HALF + 1.0, "float64", [1.0, 2.0]),
    "series": (lambda: pd.Series(WORDS, index=np.arange(30)[::-1]), "object", ["no", "yes"]),
    "string dtype": (lambda: pd.Series(WORDS, dtype="string"), "object", ["no", "yes"]),
    "nullable integers": (lambda: pd.Series(HALF, dtype="Int64"), "int64", [0, 1]),
    "nullable booleans": (lambda: pd.Series(HALF == 1, dtype="boolean"), "bool", [False, True]),
    "categorical": (lambda: pd.Categorical(WORDS, categories=["yes", "no", "maybe"]), "object", ["no", "yes"]),
    "categorical series": (lambda: pd.Series(WORDS, dtype="category"), "object", ["no", "yes"]),
    "categorical integers": (lambda: pd.Series(HALF, dtype="category"), "int64", [0, 1]),
    "index": (lambda: pd.Index(WORDS), "object", ["no", "yes"]),
    "polars text": (lambda: polars(WORDS.tolist()), "object", ["no", "yes"]),
    "polars categorical": (lambda: polars(WORDS.tolist(), "Categorical"), "object", ["no", "yes"]),
    "polars enum": (polars_enum, "object", ["no", "yes"]),
    "polars booleans": (lambda: polars((HALF == 1).tolist()), "bool", [False, True]),
    "half floats": (lambda: HALF.astype(np.float16), "float16", [0.0, 1.0]),
    "polars integers": (lambda: polars(HALF.tolist(), "Int16"), "int16", [0, 1]),
    "empty text": (lambda: np.where(HALF, "yes", ""), "<U3", ["", "yes"]),
    "with slashes": (lambda: np.where(HALF, "a/b", "../a"), "<U4", ["../a", "a/b"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_keep_their_type(kind):
    make, dtype, classes = LABELS[kind]
    y = make()
    fitted = model().fit(X, y)
    assert fitted.classes_.dtype == np.dtype(dtype)
    assert fitted.classes_.tolist() == classes
    prediction = fitted.predict(X)
    assert prediction.dtype == fitted.classes_.dtype
    assert set(prediction.tolist()) == set(classes)
    assert fitted.score(X, y) >= 0.9
    assert fitted.posterior_.map_trees(target=classes[0])
    labels = labels_from_json(labels_to_json(fitted.classes_))
    assert labels.dtype == fitted.classes_.dtype
    assert labels.tolist() == classes


MANY = [str(i) for i in range(5000)]


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "<U999999", "values": MANY},
        {"dtype": "<U2"},
        {"dtype": "<i8"},
        {"values": ["no"]},
        {"values": ["no", 1]},
    ],
)
def test_labels_of_a_changed_file_are_refused_before_they_take_memory(change):
    held = labels_to_json(np.array(["no", "yes"]))
    tracemalloc.start()
    with pytest.raises(FormatError, match="class labels of one type"):
        labels_from_json({**held, **change})
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


def test_the_score_weighs_rows_and_takes_one_class():
    fitted, wrong = model().fit(X, HALF), np.arange(30) < 10
    found = fitted.predict(X).astype(object)
    assert fitted.score(X, np.where(wrong, 1 - found, found), np.where(wrong, 4, 1)) == pytest.approx(20 / 60)
    assert fitted.score(X[:1], found[:1]) == 1


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (HALF[:-1], "one value of y for each of the 30 rows of X, got 29"),
        (WORDS, r"labels like the classes of the fit, 0, 1, got 'no', 'yes'.*as it was in training"),
        (np.where(HALF, np.nan, 0), "missing label"),
        (X[:, 0], "continuous numbers"),
    ],
)
def test_a_score_of_what_is_no_label_is_refused_in_words(y, message):
    with pytest.raises(DataError, match=message):
        model().fit(X, HALF).score(X, y)


def test_a_label_that_was_not_in_training_is_not_predicted():
    assert model().fit(X, WORDS).score(X, np.full(30, "perhaps")) == 0


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no StringDType")
def test_variable_width_text():
    fitted = model().fit(X, WORDS.astype(np.dtypes.StringDType()))
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.classes_.dtype.kind == "U"


def test_text_labels_in_a_data_frame():
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.tile(["u", "v", "w"], 10), "label": WORDS})
    fitted = model().fit(frame[["x", "kind"]], frame["label"])
    assert fitted.score(frame[["x", "kind"]], frame["label"]) >= 0.9
    assert list(fitted.feature_names_in_) == ["x", "kind"]


@pytest.mark.parametrize("make", [lambda: WORDS[:, None], lambda: pd.DataFrame({"label": WORDS})])
def test_a_column_vector_is_taken_with_a_warning(make):
    with pytest.warns(DataConversionWarning, match="column-vector"):
        fitted = model().fit(X, make())
    assert np.array_equal(fitted.predict_proba(X), model().fit(X, WORDS).predict_proba(X))


def with_one(value, base=WORDS):
    y = base.astype(object)
    y[7] = value
    return y


REFUSED = {
    "None": (with_one(None), r"missing label.*row 7"),
    "NaN": (with_one(np.nan), r"missing label.*row 7"),
    "NaN in a list": ([*WORDS[:7].tolist(), np.nan, *WORDS[8:].tolist()], r"missing label.*row 7"),
    "NaN among floats": (np.where(np.arange(30) == 7, np.nan, HALF), r"missing label.*row 7"),
    "NA": (pd.Series(with_one(pd.NA), dtype="string"), r"missing label.*row 7"),
    "NA among integers": (pd.Series(with_one(pd.NA, HALF), dtype="Int64"), r"missing label.*row 7"),
    "missing category": (pd.Series(with_one(None), dtype="category"), r"missing label.*row 7"),
    "masked": (np.ma.masked_array(HALF, mask=np.arange(30) == 7), r"masked.*row 7"),
    "many missing": (np.full(30, None), r"rows 0, 1, 2, 3, 4, \.\.\. 30 in all"),
    "text and numbers": (with_one(3), r"one type.*int and str.*Convert y"),
    "text and numbers in a list": (["a", 1] * 15, r"one type.*int and str"),
    "booleans and integers": (with_one(True, HALF), r"one type.*bool and int"),
    "tuples": (pd.Series([(0,), (1,)] * 15), r"one type.*tuple"),
    "decimals": (np.array([Decimal(0), Decimal(1)] * 15), r"one type.*Decimal"),
    "huge integers": (np.array([0, 2**70] * 15, dtype=object), r"at most 64 bits.*Use text"),
    "continuous": (X[:, 0], r"continuous numbers such as 0\.03.*TreedGPRegressor"),
    "continuous among objects": (X[:, 0].astype(object), r"continuous numbers such as 0\.03.*TreedGPRegressor"),
    "infinity": (np.where(HALF, np.inf, 0), r"continuous numbers such as inf"),
    "beyond integers": (np.where(HALF, 1e300, 0), r"continuous numbers such as 1e\+300"),
    "complex": (HALF + 0j, "Complex data not supported"),
    "bytes": (WORDS.astype("S"), r"text, integers or booleans.*S3"),
    "dates": (pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"] * 15)), "text, integers or booleans"),
    "dates among objects": (np.array([dt.date(2020, 1, 1), dt.date(2020, 1, 2)] * 15), r"one type.*date"),
    "one class": (np.full(30, "same"), r"at least 2 classes.*'same' in all 30 row"),
    "one class of integers": (np.zeros(30, int), r"at least 2 classes in y, got 1 class: 0 in all"),
    "one category of two": (pd.Categorical(["a"] * 30, categories=["a", "b"]), "at least 2 classes"),
    "two columns": (np.column_stack([HALF, HALF]), r"1d array.*one value of y"),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_label_is_refused_in_words(kind):
    y, message = REFUSED[kind]
    with pytest.raises(DataError, match=message):
        model().fit(X, y)


def test_too_few_labels():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model().fit(X, WORDS[:-1])


def test_codes_index_the_classes():
    classes, codes = read_labels(["b", "a", "c", "a"])
    assert classes.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [1, 0, 2, 0]


MODELS = [{}, {"tree_sharing": "shared"}, {"latent_sampler": "metropolis"}, {"leaf": "constant"}]
MODEL_NAMES = ["per_class", "shared", "metropolis", "constant"]


@pytest.mark.parametrize("settings", MODELS, ids=MODEL_NAMES)
def test_a_class_with_one_member(settings):
    y = np.where(np.arange(30) == 12, "rare", WORDS)
    fitted = model(chains=2, **settings).fit(X, y)
    shares = fitted.predict_proba(X)
    assert fitted.classes_.tolist() == ["no", "rare", "yes"]
    assert (shares > 0).all()
    assert shares[:, 1].mean() < 0.3


@pytest.mark.parametrize("settings", MODELS, ids=MODEL_NAMES)
def test_two_rows_of_two_classes(settings):
    fitted = model(**settings).fit([[0.0], [1.0]], ["a", "b"])
    shares = fitted.predict_proba([[0.0], [1.0]])
    assert np.isfinite(shares).all()
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("settings", MODELS, ids=MODEL_NAMES)
def test_one_percent_of_a_class(settings):
    """Two rare rows of 200, side by side: probable where they are, improbable elsewhere, and 1% on average."""
    x = np.linspace(0, 1, 200)
    y = np.where(x > 0.99, "rare", "usual")
    assert np.mean(y == "rare") == 0.01
    fitted = model(chains=2, draws=200, tune=800, **settings).fit(x[:, None], y)
    rare = fitted.predict_proba(x[:, None])[:, 0]
    assert 0.002 < rare.mean() < 0.04
    assert rare[-2:].mean() > 3 * rare[:150].mean()


@pytest.mark.parametrize("settings", MODELS, ids=MODEL_NAMES)
def test_twenty_classes(settings):
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(20), 4) + 0.2 * rng.standard_normal(80)
    y = np.array([f"class {c:02}" for c in np.repeat(np.arange(20), 4)])
    fitted = model(draws=20, tune=40, **settings).fit(x[:, None], y)
    shares = fitted.predict_proba(x[:, None])
    assert shares.shape == (80, 20)
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert fitted.score(x[:, None], y) > 0.15  # 0.05 by chance; these are few rounds
    assert max(len(str(finding)) for finding in fitted.posterior_.health()) < 500
    if settings != MODELS[3]:
        assert fitted.latent_mean_and_variance(x[:3, None])[0].shape == (19, 3)
