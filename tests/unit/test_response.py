"""The user's y: numbers in any form are read, anything else is refused with its row."""

import numpy as np
import pandas as pd
import pytest

from treedgp import DataError
from treedgp.estimators.response import read_response


@pytest.mark.parametrize(
    "y",
    [
        [1.0, 2.0, 3.0],
        np.array([1, 2, 3], dtype=object),
        np.array(["1", "2.0", "3e0"], dtype=object),
        pd.Series([1, 2, 3], index=[7, 5, 3]),
        pd.Series([1, 2, 3], dtype=object),
        pd.Series(["1", "2", "3"]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pd.array([1.0, 2.0, 3.0], dtype="Float64"),
        pd.Index([1, 2, 3]),
        pd.Categorical([1, 2, 3]),
    ],
    ids=lambda y: f"{type(y).__name__}-{getattr(y, 'dtype', '')}",
)
def test_a_response_of_numbers_in_any_form(y):
    values = read_response(y)
    assert values.dtype == np.float64
    assert values.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (pd.array([1, None, 3], dtype="Int64"), r"NaN.*row 1"),
        (np.array([None, 1.0, np.nan], dtype=object), r"NaN.*rows 0, 2"),
        (np.array([1.0, np.inf]), r"infinity.*row 1"),
        (np.array([1.0, "a"], dtype=object), r"got 'a' of type str in row 1"),
        (pd.Series(["a", "b"]), r"got 'a' of type str in row 0"),
        (np.array([1.0, 10**309], dtype=object), "finite numbers in y.*row 1.*too large for a float"),
        ([1.0, 10**5000], "row 1.*too large for a float"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), "dates or times"),
    ],
    ids=range(8),
)
def test_a_response_that_is_not_is_refused(y, words):
    with pytest.raises(DataError, match=words):
        read_response(y)
