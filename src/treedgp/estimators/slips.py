"""Slips in the data that have a meaning, though hardly the one that was meant."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from numbers import Integral
from typing import Any

import numpy as np

from treedgp.errors import frames_to_the_user
from treedgp.estimators.frames import columns_of, level_of


def warn_of_mixtures(X: Any) -> None:
    """One text among numbers turns a whole column into levels."""
    for column in columns_of(X)[1]:
        if column.kind != "level" or column.declared is not None:
            continue
        cells = [level for level in map(level_of, column.cells) if level is not None]
        numbers = {level.value for level in cells if level.sort in ("int", "float")}
        text = [level.value for level in cells if level.sort == "str"]
        if text and len(numbers) > len(set(text)):
            warnings.warn(
                f"Column {column.name!r} mixes numbers with text such as {text[0]!r}: each of its {len(numbers)} "
                "different numbers is a level. Expected one or the other: correct the text if the column is numeric, "
                "or list it in categorical_features if it is not.",
                UserWarning,
                stacklevel=frames_to_the_user(),
            )


def warn_of_lost_digits(X: Any, exact: Collection[int]) -> None:
    """Different integers that are the same float; the columns in `exact` are not read as floats."""
    for i, column in enumerate(columns_of(X)[1]):
        numbers = None if i in exact else column.numbers()
        if numbers is None or not (np.abs(numbers) > 2**53).any():
            continue
        integers = {cell for cell in column.cells if isinstance(cell, Integral)}
        if len(set(map(float, integers))) < len(integers):
            warnings.warn(
                f"Column {column.name!r} has different integers that are equal as 64-bit floats, which are exact up to "
                "2**53. Subtract an offset from the column, or if it is no quantity, use a data frame in which it is "
                "text or a category.",
                UserWarning,
                stacklevel=frames_to_the_user(),
            )
