"""The user's columns: which are categorical, their levels, how they are read, named columns, scaled columns."""

import copy
import json
import warnings
from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from treedgp import ConfigError, DataError, FormatError
from treedgp.estimators.columns import chosen_columns
from treedgp.estimators.frames import Level
from treedgp.estimators.inputs import InputSchema
from treedgp.model.data import CategoricalColumn, InputEncoder, NumericColumn

MISSING = Level("missing", None)


def frame(**columns):
    return pd.DataFrame(columns)


def levels(series, **settings):
    """The levels learned from one column, as (type, value)."""
    return [tuple(level) for level in InputSchema.learn(frame(c=series), **settings).levels[0]]


# --- which columns are categorical ---


def mixed():
    return frame(
        number=[1.5, 2.5, 3.5],
        integer=[3, 1, 2],
        category=pd.Series(["b", "a", "b"], dtype="category"),
        text=["u", "v", "u"],
        string=pd.array(["u", "v", "u"], dtype="string"),
        object=pd.Series(["u", 1, None], dtype=object),
        bool=[True, False, True],
        boolean=pd.array([True, None, False], dtype="boolean"),
        nullable=pd.array([1, 2, 3], dtype="Int64"),
        float32=np.array([1, 2, 3], dtype=np.float32),
    )


def test_from_dtype_takes_category_text_object_and_bool_columns():
    schema = InputSchema.learn(mixed(), "from_dtype")
    chosen = [schema.names[i] for i in schema.categorical]
    assert chosen == ["category", "text", "string", "object", "bool", "boolean"]
    assert schema.is_frame
    assert schema.names == tuple(mixed().columns)


@pytest.mark.parametrize(
    "wanted", [["b"], [1], [False, True, False], np.array(["b"]), pd.Index(["b"]), ("b",)], ids=str
)
def test_a_list_replaces_the_dtypes(wanted):
    schema = InputSchema.learn(frame(a=[1.0, 2.0], b=[1, 2], c=[True, False]), wanted)
    assert schema.categorical == (1,)
    assert schema.read(frame(a=[1.0, 2.0], b=[2, 1], c=[True, False])).tolist() == [[1, 1, 1], [2, 0, 0]]


@pytest.mark.parametrize("setting", [None, [], ["a"]])
def test_text_outside_the_categorical_columns_is_named(setting):
    data = frame(a=["u", "v"], b=["u", "v"], c=[1.0, 2.0])
    with pytest.raises(DataError, match=r"Expected numbers.*got text in.*'b' \(str.*categorical_features") as caught:
        InputSchema.learn(data, setting)
    assert ("'a'" in str(caught.value)) == (setting != ["a"])
    assert "'c'" not in str(caught.value)


def test_objects_that_are_numbers_are_numbers_if_not_categorical():
    schema = InputSchema.learn(frame(a=pd.Series([1, 2.5, True], dtype=object)), None)
    assert schema.categorical == ()
    assert schema.read(frame(a=pd.Series([1, 2.5, True], dtype=object)))[:, 0].tolist() == [1, 2.5, 1]


def test_an_array_has_no_categorical_column_unless_named():
    X = np.array([[1.0, 5.0], [2.0, 3.0], [1.0, 5.0]])
    schema = InputSchema.learn(X, "from_dtype")
    assert (schema.names, schema.is_frame, schema.categorical) == (("x0", "x1"), False, ())
    assert np.array_equal(schema.read(X), X)
    assert InputSchema.learn(X, ["x1"]).read(X)[:, 1].tolist() == [1, 0, 1]


@pytest.mark.parametrize("setting", ["auto", "a", 3, object()])
def test_a_wrong_setting_is_a_config_error(setting):
    with pytest.raises(ConfigError, match=r"categorical_features must be.*got"):
        InputSchema.learn(frame(a=["u", "v"]), setting)


@pytest.mark.parametrize(
    "series",
    [
        pd.to_datetime(["2020-01-01", "2020-01-02"]),
        pd.to_datetime(["2020-01-01", "2020-01-02"]).tz_localize("UTC"),
        pd.to_timedelta([1, 2], unit="D"),
        pd.period_range("2020-01", periods=2, freq="M"),
        pd.Series([date(2020, 1, 1), date(2020, 1, 2)], dtype=object),
        pd.Categorical(pd.to_datetime(["2020-01-01", "2020-01-02"])),
    ],
    ids=lambda series: str(series.dtype),
)
@pytest.mark.parametrize("setting", ["from_dtype", ["c"]])
def test_dates_say_what_to_do(series, setting):
    with pytest.raises(DataError, match=r"'c'.*(days since|Convert the column).*"):
        InputSchema.learn(frame(c=series), setting)


@pytest.mark.parametrize("cell", [[1], (1,), b"a", 1j, pd.Interval(0, 1), {"a": 1}], ids=repr)
def test_a_level_of_another_type_is_refused_with_its_row(cell):
    column = pd.Series(["a", None, "b"], dtype=object)
    column[1] = cell
    with pytest.raises(DataError, match=r"'c': expected levels.*row 1.*astype\(str\)"):
        InputSchema.learn(frame(c=column))


def test_complex_columns_and_repeated_names_are_refused():
    with pytest.raises(DataError, match=r"'c' \(complex128\)"):
        InputSchema.learn(frame(c=[1j, 2j]))
    with pytest.raises(DataError, match="'a' more than once"):
        InputSchema.learn(pd.DataFrame([[1, 2]], columns=["a", "a"]))


# --- levels: order and type ---


def test_a_category_dtype_keeps_its_order_without_what_does_not_occur():
    series = pd.Categorical(["low", "high", "low"], categories=["none", "low", "mid", "high"])
    assert levels(series) == [("str", "low"), ("str", "high")]
    assert levels(pd.Categorical([3, 1, None], categories=[3, 2, 1])) == [("int", 3), ("int", 1), tuple(MISSING)]


def test_other_levels_are_sorted_numbers_text_missing():
    assert levels(["b", "a", "B", "b"]) == [("str", "B"), ("str", "a"), ("str", "b")]
    assert levels([True, False]) == [("bool", False), ("bool", True)]
    assert levels([10, 9, 100], categorical_features=["c"]) == [("int", 9), ("int", 10), ("int", 100)]
    assert levels([0.5, -0.0, 0.0], categorical_features=["c"]) == [("float", 0.0), ("float", 0.5)]
    mix = pd.Series(["1", None, 1.5, 1, "a", True, np.nan, 1.0], dtype=object)
    assert levels(mix) == [
        ("bool", True),
        ("float", 1.0),
        ("int", 1),
        ("float", 1.5),
        ("str", "1"),
        ("str", "a"),
        tuple(MISSING),
    ]


@pytest.mark.parametrize("missing", [None, np.nan, float("nan"), pd.NA, pd.NaT, np.float64("nan")], ids=repr)
def test_every_missing_value_is_the_one_missing_level(missing):
    column = pd.Series(["a", "b", "a"], dtype=object)
    column[1] = missing
    schema = InputSchema.learn(frame(c=column))
    assert schema.levels == ((Level("str", "a"), MISSING),)
    for other in (None, np.nan, pd.NA, pd.NaT):
        assert schema.read(frame(c=pd.Series([other], dtype=object)))[0, 0] == 1


def test_a_single_level_or_only_missing_ones_will_do():
    assert levels(["a", "a"]) == [("str", "a")]
    assert levels(pd.Series([None, None], dtype=object)) == [tuple(MISSING)]


def test_labels_are_plain_where_they_can_be_and_always_different():
    schema = InputSchema.learn(frame(c=pd.Series(["1", 1, 1.0, True, "True", "missing", None, 2.0, "x"], dtype=object)))
    labels = dict(zip(schema.levels[0], schema.labels("c"), strict=True))
    assert len(set(labels.values())) == 9
    assert labels[Level("str", "x")] == "x"
    assert labels[Level("float", 2.0)] == "2"
    assert labels[Level("str", "1")] == "'1'"
    assert labels[MISSING] == "missing"
    assert schema.labels(0) == schema.labels("c")
    assert InputSchema.learn(frame(a=[1.0])).labels("a") == []
    assert InputSchema.learn(frame(a=[True, False])).labels("a") == ["False", "True"]


# --- reading ---


def test_read_gives_numbers_and_indices():
    schema = InputSchema.learn(mixed())
    matrix = schema.read(mixed())
    assert matrix.dtype == np.float64
    assert matrix.T.tolist() == [
        [1.5, 2.5, 3.5],
        [3, 1, 2],
        [1, 0, 1],
        [0, 1, 0],
        [0, 1, 0],
        [1, 0, 2],
        [1, 0, 1],
        [1, 2, 0],
        [1, 2, 3],
        [1, 2, 3],
    ]


def test_unseen_levels_are_minus_one_with_one_warning():
    schema = InputSchema.learn(frame(c=["a", "b"], d=["u", "v"], e=["p", "q"]))
    new = frame(c=["z", "a"], d=["u", None], e=["p", "q"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        matrix = schema.read(new)
    assert matrix.tolist() == [[-1, 0, 0], [0, -1, 1]]
    assert [w.category for w in caught] == [UserWarning]
    message = str(caught[0].message)
    for part in ("column 'c': 'z'", "column 'd': missing", "rest side"):
        assert part in message
    assert "'e'" not in message


def test_many_unseen_levels_are_counted_not_listed():
    schema = InputSchema.learn(frame(c=["a", "b"]))
    with pytest.warns(UserWarning, match="and 15 more"):
        schema.read(frame(c=[f"new{i}" for i in range(20)]))


def test_unseen_numbers_are_named_as_they_were_written():
    """An empty cell turns an integer column of pandas into floats."""
    schema = InputSchema.learn(frame(c=[1, 2, 3]), ["c"])
    with pytest.warns(UserWarning, match=r"column 'c': 2.5, 9, missing\."):
        schema.read(frame(c=[1.0, 9.0, 2.5, np.nan]))


def test_seen_levels_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        InputSchema.learn(mixed()).read(mixed().iloc[::-1])


def test_integers_that_come_as_floats_are_the_same_levels():
    """A missing value turns an integer column of pandas into floats."""
    schema = InputSchema.learn(frame(c=[1, 2, 3]), ["c"])
    with pytest.warns(UserWarning, match="missing"):
        assert schema.read(frame(c=[3.0, np.nan, 1.0]))[:, 0].tolist() == [2, -1, 0]
    assert schema.read(np.array([[2.0], [1.0]]))[:, 0].tolist() == [1, 0]


def test_equal_numbers_of_different_type_stay_apart_if_training_had_both():
    column = pd.Series([1, 1.0, True, "1"], dtype=object)
    matrix = InputSchema.learn(frame(c=column)).read(frame(c=column))
    assert len(np.unique(matrix)) == 4


def test_a_category_of_other_declared_levels_is_read_by_value():
    schema = InputSchema.learn(frame(c=pd.Categorical(["a", "b"], categories=["b", "a"])))
    assert schema.read(frame(c=pd.Categorical(["a", "b"], categories=["a", "b", "c"])))[:, 0].tolist() == [1, 0]
    assert schema.read(frame(c=["a", "b"]))[:, 0].tolist() == [1, 0]


@pytest.mark.parametrize("stage", ["training", "new"])
@pytest.mark.parametrize(
    ("bad", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")], ids=["nan", "inf", "-inf"]
)
def test_missing_and_infinite_numbers_are_named_with_their_rows(stage, bad, word):
    good = frame(a=np.arange(8.0), b=np.arange(8.0), c=np.arange(8.0))
    data = good.copy()
    data.loc[2, "a"] = bad
    data.loc[1:, "c"] = bad
    schema = InputSchema.learn(data if stage == "training" else good)
    with pytest.raises(DataError) as caught:
        schema.read(data)
    message = str(caught.value)
    for part in (word, "'a' (row 2)", "'c' (rows 1, 2, 3, 4, 5, ... 7 in all)", "drop"):
        assert part in message
    assert "'b'" not in message
    assert ("sklearn.impute" in message) == (word == "NaN")


def test_a_missing_nullable_integer_is_a_missing_number():
    data = frame(a=pd.array([1, None], dtype="Int64"))
    with pytest.raises(DataError, match=r"'a' \(row 1\)"):
        InputSchema.learn(data).read(data)


@pytest.mark.parametrize(
    ("trained", "came", "words"),
    [
        ([1.0, 2.0], ["u", "v"], "numeric in training: expected numbers, got dtype.*'u'"),
        ([1.0, 2.0], ["0.5", "hello"], "numeric in training: expected numbers, got dtype.*'hello'"),
        ([1.0, 2.0], ["0.5", "1.5"], "numeric in training: expected numbers, got dtype.*'0.5'"),
        ([1.0, 2.0], pd.to_datetime(["2020-01-01", "2020-01-02"]), "expected numbers, got dtype datetime"),
        (["u", "v"], [1.0, 2.0], "text in training: expected the same, got numbers"),
        (["u", "v"], [True, False], "text in training.*got bool"),
        ([True, False], [1, 0], "bool in training.*got numbers"),
        ([True, False], ["True", "False"], "bool in training.*got text"),
    ],
)
def test_columns_of_another_type_are_refused(trained, came, words):
    with pytest.raises(DataError, match=words):
        InputSchema.learn(frame(c=trained)).read(frame(c=came))


def test_columns_must_be_the_training_columns_in_order():
    schema = InputSchema.learn(frame(a=[1.0], b=[2.0]))
    with pytest.raises(DataError, match="another order"):
        schema.read(frame(b=[2.0], a=[1.0]))
    with pytest.raises(DataError, match=r"Expected the columns 'a', 'b'.*got 'a', 'c'"):
        schema.read(frame(a=[2.0], c=[1.0]))
    with pytest.raises(DataError, match=r"Expected 2 columns.*got 1"):
        schema.read(frame(a=[2.0]))
    with pytest.raises(DataError, match="two axes"):
        schema.read(np.zeros(2))


def test_reading_does_not_change_the_frame():
    data = mixed()
    before = data.copy(deep=True)
    InputSchema.learn(data).read(data)
    pd.testing.assert_frame_equal(data, before)


# --- pyarrow-backed columns ---


def test_pyarrow_backed_columns():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    types = {
        "text": (pa.string(), ["b", None, "a"], [1, 2, 0]),
        "bool": (pa.bool_(), [True, None, False], [1, 2, 0]),
        "int": (pa.int64(), [3, 1, 2], [3, 1, 2]),
        "double": (pa.float64(), [0.5, 1.5, 2.5], [0.5, 1.5, 2.5]),
        "dictionary": (pa.dictionary(pa.int32(), pa.string()), ["b", "a", "b"], [1, 0, 1]),
    }
    data = frame(**{name: pd.Series(cells, dtype=pd.ArrowDtype(kind)) for name, (kind, cells, _) in types.items()})
    schema = InputSchema.learn(data)
    assert [schema.names[i] for i in schema.categorical] == ["text", "bool", "dictionary"]
    assert schema.read(data).T.tolist() == [expected for _, _, expected in types.values()]
    with pytest.raises(DataError, match=r"'int' \(row 0\)"):
        schema.read(data.assign(int=pd.Series([None, 1, 2], dtype=pd.ArrowDtype(pa.int64()))))
    for kind in (pa.timestamp("ns"), pa.date32(), pa.time64("us"), pa.duration("s")):
        with pytest.raises(DataError, match="dates or times in column 'when'"):
            InputSchema.learn(frame(when=pd.Series([None, None], dtype=pd.ArrowDtype(kind))))


# --- JSON ---

cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(),
    st.sampled_from(["1", 1, 1.0, True]),
)


@given(st.lists(cells, min_size=1, max_size=20))
def test_json_round_trip_keeps_every_level_and_its_type(values):
    data = frame(number=np.arange(len(values), dtype=float), c=pd.Series(values, dtype=object))
    schema = InputSchema.learn(data)
    text = json.dumps(schema.to_json(), allow_nan=False)
    again = InputSchema.from_json(json.loads(text))
    assert again == schema
    assert [type(level.value) for level in again.levels[1]] == [type(level.value) for level in schema.levels[1]]
    assert np.array_equal(again.read(data), schema.read(data))


GOOD = {"is_frame": True, "columns": [{"name": "a", "levels": None}, {"name": "c", "levels": [["str", "u"]]}]}


def damaged(path, value):
    data = copy.deepcopy(GOOD)
    target = data
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    return data


BAD = [
    None,
    [],
    "text",
    {},
    {"is_frame": True},
    GOOD | {"more": 1},
    damaged(["is_frame"], 1),
    damaged(["columns"], {}),
    damaged(["columns"], []),
    damaged(["columns", 0], "a"),
    damaged(["columns", 0], {"name": "a"}),
    damaged(["columns", 0, "name"], 3),
    damaged(["columns", 0, "name"], "c"),
    damaged(["columns", 1, "levels"], []),
    damaged(["columns", 1, "levels"], "u"),
    damaged(["columns", 1, "levels", 0], "u"),
    damaged(["columns", 1, "levels", 0], ["str"]),
    damaged(["columns", 1, "levels", 0], ["bytes", "u"]),
    damaged(["columns", 1, "levels", 0], [["str"], "u"]),
    damaged(["columns", 1, "levels", 0], ["str", 1]),
    damaged(["columns", 1, "levels", 0], ["int", True]),
    damaged(["columns", 1, "levels", 0], ["int", 1.0]),
    damaged(["columns", 1, "levels", 0], ["float", 1]),
    damaged(["columns", 1, "levels", 0], ["float", "nan"]),
    damaged(["columns", 1, "levels", 0], ["float", float("nan")]),
    damaged(["columns", 1, "levels", 0], ["missing", "u"]),
    damaged(["columns", 1, "levels"], [["str", "u"], ["str", "u"]]),
]


@pytest.mark.parametrize("data", BAD, ids=range(len(BAD)))
def test_damaged_json_is_a_format_error(data):
    assert InputSchema.from_json(copy.deepcopy(GOOD)).names == ("a", "c")
    with pytest.raises(FormatError, match=r"expected.*got"):
        InputSchema.from_json(data)


# --- named columns ---

NAMES = ("price", "size", "colour")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (None, [9]),
        ([], []),
        (["size"], [1]),
        (("colour", "price", "colour"), [0, 2]),
        (np.array(["size", "price"]), [0, 1]),
        ([2, 0, 2], [0, 2]),
        (np.array([1]), [1]),
        (range(2), [0, 1]),
        ([True, False, True], [0, 2]),
        (np.zeros(3, bool), []),
        (pd.Series([False, True, False]), [1]),
    ],
    ids=str,
)
def test_columns_by_mask_index_or_name(columns, expected):
    assert chosen_columns("leaf_features", columns, [9], NAMES) == expected


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["prize"], r"expected names.*got 'prize'\. Did you mean 'price'"),
        (["zzz"], r"got 'zzz'\. The columns are 'price', 'size', 'colour'"),
        ("price", r"must be.*got 'price'\. For the one column write \['price'\]"),
        ("numeric", r"must be.*got 'numeric'\.$"),
        (["price", 1], "must be.*either column indices or column names"),
        ([True, 1], "must be"),
        ([True], "a mask needs 3 entries.*got 1"),
        ([0.0], "must be"),
        ([3], r"must lie in 0 \.\. 2"),
        ([-1], r"must lie in 0 \.\. 2"),
        (1, "must be.*got 1"),
    ],
    ids=str,
)
def test_columns_that_are_not_there_say_what_to_do(columns, words):
    with pytest.raises(ConfigError, match=f"^leaf_features.*{words}"):
        chosen_columns("leaf_features", columns, [], NAMES)


@pytest.mark.parametrize("once", [iter, lambda names: (name for name in names), lambda names: map(str, names)])
def test_columns_that_can_be_read_only_once_are_refused(once):
    with pytest.raises(ConfigError, match=r"^leaf_features must be.*, got <.*only once: make it a list\."):
        chosen_columns("leaf_features", once(["price"]), [], NAMES)


# --- scaling and labels in the encoder ---


def test_quantile_scaling_is_the_mid_rank_distribution_function():
    column = NumericColumn.learn("x", np.array([1.0, 1.0, 10.0, 1000.0, 1000.0, 1000.0]), "quantile")
    assert column.knots.tolist() == [1, 10, 1000]
    assert column.heights == pytest.approx([0, 1.5 / 3.5, 1])  # mid-ranks 1.5, 3, 5
    assert column.leaf_columns(np.array([-5.0, 1.0, 5.5, 10.0, 1000.0, 1e9]))[0] == pytest.approx(
        [0, 0, 0.75 / 3.5, 1.5 / 3.5, 1, 1]
    )
    assert column.thresholds.tolist() == [5.5, 505]


@given(hnp.arrays(float, st.integers(1, 30), elements=st.floats(-1e300, 1e300)), st.floats(-1e300, 1e300))
def test_quantile_scaling_is_monotone_within_0_and_1_and_shares_the_cuts_of_minmax(values, fresh):
    column = NumericColumn.learn("x", values, "quantile")
    plain = NumericColumn.learn("x", values)
    points = np.sort(np.append(values, [fresh, -np.finfo(float).max, np.finfo(float).max]))
    (scaled,) = column.leaf_columns(points)
    assert ((scaled >= 0) & (scaled <= 1)).all()
    assert (np.diff(scaled) >= 0).all()
    assert scaled[0] == 0
    assert scaled[-1] == (1 if len(np.unique(values)) > 1 else 0)
    assert np.array_equal(column.leaf_columns(column.knots)[0], column.heights)
    assert np.array_equal(column.thresholds, plain.thresholds)
    assert np.array_equal(column.codes(points), plain.codes(points))


def test_knots_next_to_each_other_interpolate_without_overflow():
    column = NumericColumn.learn("x", np.array([0.0, 1e-310, 1.0]), "quantile")
    assert column.leaf_columns(np.array([5e-311]))[0] == pytest.approx([0.25])


def test_encoder_passes_scaling_and_labels_on():
    X = np.array([[1.0, 0.0], [2.0, 1.0], [100.0, 2.0]])
    encoder = InputEncoder.learn(X, ["a", "c"], {1}, (0, 1), (0, 1), "quantile", {1: ["low", "mid", "high"]})
    assert encoder.leaf_names() == ["a", "c=mid", "c=high"]
    assert encoder.leaf_inputs(X)[:, 0].tolist() == [0, 0.5, 1]
    assert encoder.columns[1].labels == ("low", "mid", "high")
    with pytest.raises(ConfigError, match=r"input_scaling must be.*got 'rank'"):
        InputEncoder.learn(X, ["a", "c"], {1}, (0, 1), (0,), "rank")
    with pytest.raises(DataError, match=r"3 levels.*got 2"):
        CategoricalColumn.learn("c", X[:, 1], ["low", "mid"])
