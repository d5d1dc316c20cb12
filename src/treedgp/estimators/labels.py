"""Class labels: read, counted, written to files and read back."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from treedgp.errors import DataError, FormatError
from treedgp.estimators.frames import MISSING, level_of, rows_text
from treedgp.estimators.response import one_column
from treedgp.model.data import Floats
from treedgp.words import quoted

KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}
DTYPE = re.compile(r"[<>|](b1|[iu][1248]|f[248]|U\d{1,6}|O)")  # of labels
MOST_BYTES = 2**24  # of all classes of a file: a wide dtype claims much memory for little text


def plain_labels(y: Any) -> NDArray[Any]:
    """y as an array of one axis, of text, whole numbers or booleans; objects as what they are."""
    values = one_column(y)
    if isinstance(y, list | tuple) and values.dtype.kind == "U" and not all(isinstance(v, str) for v in y):
        values = np.array([*y], dtype=object)  # NumPy turns a missing label or a number among texts into text
    if values.dtype.kind in "OT":
        values = _of_one_type(values)
    if values.dtype.kind == "f":
        _check_whole(values)
    if not DTYPE.fullmatch(values.dtype.str):
        raise DataError(
            f"Expected labels that are text, integers or booleans, got dtype {values.dtype}. Convert y, e.g. to text."
        )
    return values


def labels_like(classes: NDArray[Any], y: Any) -> NDArray[Any]:
    """y as `plain_labels`, of text if the classes are: other labels than theirs may be among them."""
    values = plain_labels(y)
    if (values.dtype.kind in "UO") != (classes.dtype.kind in "UO"):
        raise DataError(
            f"Expected in y labels like the classes of the fit, {quoted(classes.tolist())}, got "
            f"{quoted(np.unique(values).tolist())}. Give y as it was in training."
        )
    return values


def read_labels(y: Any) -> tuple[NDArray[Any], Floats]:
    """The classes in order, and for each row the index of its class."""
    values = plain_labels(y)
    check_classification_targets(values)
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise DataError(
            f"A classifier needs at least 2 classes in y, got 1 class: {classes.tolist()[0]!r} in all {len(values)} "
            "row(s). Check that the right column is the target."
        )
    return classes, codes.astype(np.float64)


def _of_one_type(values: NDArray[Any]) -> NDArray[Any]:
    """Objects that are all text as they are, all numbers as an array of numbers; a mixture has no order."""
    levels = [level_of(value) for value in values.tolist()]
    _refuse_missing([row for row, level in enumerate(levels) if level == MISSING])
    sorts = {type(value).__name__ if level is None else level.sort for value, level in zip(values, levels, strict=True)}
    plain = [level.value for level in levels if level is not None]
    if sorts == {"str"}:
        return np.array(plain, dtype=object if values.dtype.kind == "O" else str)
    if sorts in ({"bool"}, {"int"}, {"float"}):
        numbers = np.array(plain)
        if numbers.dtype.kind == "O":
            raise DataError("Expected integer labels of at most 64 bits, got larger ones. Use text instead.")
        return numbers
    raise DataError(
        f"Expected labels of one type, text, integers or booleans, got {' and '.join(sorted(sorts))}. "
        "Convert y, e.g. to text."
    )


def _check_whole(values: NDArray[Any]) -> None:
    _refuse_missing(np.flatnonzero(np.isnan(values)).tolist())
    odd = values[(values != np.floor(values)) | (np.abs(values.astype(np.float64)) > 2**53)]  # float16 ends before
    if len(odd):
        raise DataError(
            f"Unknown label type: expected classes in y, got continuous numbers such as {odd[0]}. TreedGPRegressor is "
            "for a continuous y; if these are classes, convert y to integers or text."
        )


def _refuse_missing(rows: list[int]) -> None:
    if rows:
        raise DataError(
            f"y contains a missing label (None, NaN or NA) in {rows_text(rows)}, counted from 0: expected a class for "
            "each row. Drop these rows."
        )


def labels_to_json(labels: NDArray[Any] | None) -> dict[str, Any] | None:
    """None for a regressor, which has none."""
    return None if labels is None else {"dtype": labels.dtype.str, "values": labels.tolist()}


def labels_from_json(value: Any) -> NDArray[Any] | None:
    """The inverse; FormatError for anything else."""
    if value is None:
        return None
    try:
        dtype, values = value["dtype"], value["values"]
        if DTYPE.fullmatch(dtype):
            kind = KINDS[np.dtype(dtype).kind]
            same = isinstance(values, list) and len(values) >= 2 and all(type(v) is kind for v in values)
            if same and len(values) * np.dtype(dtype).itemsize <= MOST_BYTES:
                labels = np.array(values, dtype=dtype)
                if labels.tolist() == values and len(np.unique(labels)) == len(values):
                    return labels
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise FormatError("expected two or more different class labels of one type")
