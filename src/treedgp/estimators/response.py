"""The user's y: one column, and for a regression finite numbers (`labels.py` reads classes)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from treedgp.errors import DataError
from treedgp.estimators.frames import MISSING, READERS, level_of, refuse_masked, rows_text
from treedgp.model.data import Floats


def one_column(y: Any) -> NDArray[Any]:
    """y as an array of one axis; a column vector with scikit-learn's warning."""
    refuse_masked("y", y)
    if type(y).__module__.partition(".")[0] in READERS:
        y = np.asarray(y.to_numpy())
    try:
        return np.asarray(column_or_1d(y, warn=True))
    except ValueError as error:
        reason = str(error).splitlines()[0].rstrip(".")  # the others are y itself
        raise DataError(f"{reason}. Expected one value of y for each row of X.") from error


def check_one_each(rows: int, values: int) -> None:
    if rows != values:
        raise DataError(
            f"Expected one value of y for each of the {rows} rows of X, got {values}. Give X and y of the same rows."
        )


def read_response(y: Any) -> Floats:
    """The response as finite floats: arrays, lists, series and extension arrays, objects that are numbers."""
    values = one_column(y)
    if values.dtype.kind in "mM":
        raise DataError(f"Expected numbers in y, got dates or times ({values.dtype}). Turn them into numbers.")
    if values.dtype.kind in "OUST":
        values = _objects_to_floats(values)
    values = np.asarray(values, dtype=np.float64)
    for test, what in ((np.isnan, "NaN (a missing response)"), (np.isinf, "infinity")):
        rows = np.flatnonzero(test(values))
        if len(rows):
            raise DataError(
                f"y contains {what} in {rows_text(rows)}, counted from 0: expected finite numbers. Drop these rows."
            )
    return values


def _objects_to_floats(values: Any) -> Floats:
    numbers = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            numbers[row] = np.nan if level_of(value) == MISSING else float(value)
        except (TypeError, ValueError) as error:
            raise DataError(
                f"Expected numbers in y, got {value!r} of type {type(value).__name__} in row {row} ({error}). "
                "Convert y to numbers; if y holds classes, use TreedGPClassifier."
            ) from error
        except OverflowError as error:
            raise DataError(
                f"Expected finite numbers in y, got one in row {row} that is too large for a float. Rescale y, or drop "
                "this row."
            ) from error
    return numbers
