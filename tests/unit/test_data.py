"""Inputs and response as the core sees them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from treedgp import DataError
from treedgp.model.data import CategoricalColumn, InputEncoder, NumericColumn, ResponseScale

finite = st.floats(-1e300, 1e300)
columns = hnp.arrays(float, st.integers(1, 30), elements=finite)


# --- numeric columns ---


def test_thresholds_are_midpoints_of_distinct_values():
    column = NumericColumn.learn("x", np.array([3.0, 1.0, 1.0, 2.0, 7.0]))
    assert column.thresholds.tolist() == [1.5, 2.5, 5.0]
    assert (column.low, column.high, column.size) == (1, 7, 4)
    assert column.codes(np.array([3.0, 1.0, 1.0, 2.0, 7.0])).tolist() == [2, 0, 0, 1, 3]


@pytest.mark.parametrize("value", [1.0, -1.0, 0.0, 1e300, 5e-324, -5e-324, 2.0**52])
def test_adjacent_floats_are_still_separated(value):
    pair = np.array([value, np.nextafter(value, np.inf)])
    column = NumericColumn.learn("x", pair)
    assert column.thresholds.tolist() == [value]  # no float lies strictly between: the lower value
    assert column.codes(pair).tolist() == [0, 1]


@given(columns)
def test_each_training_value_is_left_of_its_own_cut_and_right_of_the_one_before(values):
    column = NumericColumn.learn("x", values)
    distinct = np.unique(values)
    assert column.size == len(distinct)
    assert (distinct[:-1] <= column.thresholds).all()
    assert (column.thresholds < distinct[1:]).all()
    assert np.array_equal(column.codes(values), np.searchsorted(distinct, values))


@given(columns, columns)
def test_the_code_of_a_new_value_says_on_which_side_of_every_cut_it_lies(values, fresh):
    column = NumericColumn.learn("x", values)
    codes = column.codes(fresh)
    assert codes.dtype == np.int32
    for cut, threshold in enumerate(column.thresholds):
        assert np.array_equal(codes <= cut, fresh <= threshold)


def test_values_outside_the_box_get_the_outer_codes():
    column = NumericColumn.learn("x", np.array([1.0, 2.0, 4.0]))
    assert column.codes(np.array([-1e9, 0.0, 5.0, 1e9])).tolist() == [0, 0, 2, 2]


@given(columns)
def test_training_values_are_scaled_to_the_unit_interval(values):
    (scaled,) = NumericColumn.learn("x", values).leaf_columns(values)
    assert np.isfinite(scaled).all()
    assert scaled.min() == 0
    assert scaled.max() == (1 if len(np.unique(values)) > 1 else 0)


def test_a_range_that_overflows_is_refused():
    """high - low is infinite: no scaling to [0, 1] exists in floating point."""
    with pytest.raises(DataError, match=r"range of column x1.*got.*Rescale"):
        NumericColumn.learn("x1", np.array([-1.7e308, 0.0, 1.7e308]))


def test_new_values_are_scaled_by_the_training_box():
    column = NumericColumn.learn("x", np.array([10.0, 20.0]))
    assert column.leaf_columns(np.array([5.0, 15.0, 40.0]))[0].tolist() == [-0.5, 0.5, 3.0]


def test_a_column_that_is_constant_in_training_has_no_cut_and_no_effect():
    column = NumericColumn.learn("x", np.full(4, 7.0))
    assert column.size == 1
    assert column.codes(np.array([6.0, 7.0, 8.0])).tolist() == [0, 0, 0]
    assert column.leaf_columns(np.array([6.0, 7.0, 8e9]))[0].tolist() == [0, 0, 0]


# --- categorical columns ---


def test_levels_are_sorted_and_coded_from_zero():
    column = CategoricalColumn.learn("c", np.array([5.0, -1.0, 5.0, 3.0]))
    assert column.levels.tolist() == [-1, 3, 5]
    assert column.codes(np.array([3.0, 5.0, -1.0])).tolist() == [1, 2, 0]


@pytest.mark.parametrize("unseen", [-2.0, 0.0, 4.0, 6.0])
def test_an_unseen_level_has_no_code_and_all_zero_columns(unseen):
    column = CategoricalColumn.learn("c", np.array([-1.0, 3.0, 5.0]))
    assert column.codes(np.array([unseen])).tolist() == [-1]
    assert [values.tolist() for values in column.leaf_columns(np.array([unseen]))] == [[0], [0]]


def test_zero_one_columns_drop_the_first_level():
    column = CategoricalColumn.learn("c", np.array([0.0, 1.0, 2.0]))
    assert np.column_stack(column.leaf_columns(np.array([0.0, 1.0, 2.0]))).tolist() == [[0, 0], [1, 0], [0, 1]]


# --- encoder ---


def encoder(split, leaf, categorical=(1,)):
    X = np.array([[0.0, 0.0, 1.0], [1.0, 1.0, 3.0], [2.0, 2.0, 2.0]])
    return X, InputEncoder.learn(X, ["a", "b", "c"], set(categorical), tuple(split), tuple(leaf))


def test_encoder_shapes_names_and_order():
    X, enc = encoder(split=(1, 2), leaf=(0, 1))
    assert enc.leaf_names() == ["a", "b=1", "b=2"]
    x, codes = enc.leaf_inputs(X), enc.codes(X)
    assert x.tolist() == [[0, 0, 0], [0.5, 1, 0], [1, 0, 1]]
    assert codes.tolist() == [[0, 0], [1, 2], [2, 1]]
    assert x.dtype == np.float64
    assert codes.dtype == np.int32
    assert x.flags.c_contiguous
    assert codes.flags.c_contiguous


def test_an_encoder_of_nothing_still_knows_the_rows():
    X, enc = encoder(split=(), leaf=())
    assert enc.leaf_inputs(X).shape == (3, 0)
    assert enc.codes(X).shape == (3, 0)
    assert enc.codes(X).dtype == np.int32


# --- response ---


@given(
    hnp.arrays(
        float,
        st.integers(2, 30),
        elements=st.floats(-1e100, 1e100, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-100),
    )
)
def test_the_response_has_range_one_and_mean_zero_and_comes_back(y):
    scale = ResponseScale.learn(y)
    z = scale.scale(y)
    if np.ptp(y) > 0:
        big = max(1.0, np.abs(y).max() / np.ptp(y))  # digits lost to a common offset
        assert np.ptp(z) == pytest.approx(1, abs=1e-12 * big)
        assert z.mean() == pytest.approx(0, abs=1e-12 * big)
    assert scale.unscale(z) == pytest.approx(y, rel=1e-12, abs=1e-12 * max(np.abs(y).max(), np.finfo(float).tiny))


@pytest.mark.parametrize("value", [1e308, -1.7e308])
def test_inputs_far_away_stay_finite_where_leaves_square_them(value):
    column = NumericColumn.learn("x", np.array([0.0, 1e-3]), "minmax")
    (scaled,) = column.leaf_columns(np.array([value]))
    assert np.isfinite(scaled**2).all()
    assert np.sign(scaled) == np.sign(value)


@pytest.mark.parametrize("value", [0.0, 3.0, 0.1, -1e12, 1e300, 1.7e308])
def test_a_constant_response_is_divided_by_one(value):
    y = np.full(40, value)
    scale = ResponseScale.learn(y)
    assert scale.width == 1
    assert (scale.scale(y) == 0).all()
    assert np.array_equal(scale.unscale(scale.scale(y)), y)


@pytest.mark.parametrize("y", [[-1.7e308, 1.7e308], [0.0, 1e-320], [0.0, 1e300]])
def test_a_response_whose_variance_overflows_or_vanishes_is_refused(y):
    with pytest.raises(DataError, match=r"y.*[Rr]escale"):
        ResponseScale.learn(np.array(y))
