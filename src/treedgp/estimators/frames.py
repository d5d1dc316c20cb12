"""Columns of data frames and arrays, whatever the library, and the levels of categorical ones."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial
from numbers import Integral
from typing import Any, Literal, NamedTuple

import numpy as np

from treedgp.errors import DataError
from treedgp.model.data import Floats
from treedgp.words import quoted

SHOWN = 5  # rows, levels or columns in a message
SORTS = {"str": str, "bool": bool, "int": int, "float": float, "missing": type(None)}
TIME_ADVICE = (
    "Turn a date or time into numbers, e.g. days since a start with (column - start).dt.days, or into text if it "
    "is a category, or leave the column out."
)


class Level(NamedTuple):
    """A value of a categorical column with its type: "1", 1, 1.0, True and a missing value are five levels."""

    sort: str  # a key of SORTS
    value: str | bool | int | float | None

    @property
    def label(self) -> str:
        if self.sort == "float":
            return repr(self.value).removesuffix(".0")
        return "missing" if self.sort == "missing" else str(self.value)

    @property
    def order(self) -> tuple[int, Any, str]:
        """Numbers, then text, then missing."""
        if self.sort == "missing":
            return 2, 0, ""
        return (1 if self.sort == "str" else 0), self.value, self.sort


MISSING = Level("missing", None)


def level_of(value: Any) -> Level | None:
    """The level of a cell; None if a cell of its type cannot be one."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return MISSING
    if isinstance(value, bool | np.bool_):
        return Level("bool", bool(value))
    if isinstance(value, Integral):
        return Level("int", int(value))
    if isinstance(value, float | np.floating):
        return MISSING if np.isnan(value) else Level("float", float(value) + 0.0)  # -0.0 is 0.0
    return Level("str", str.__str__(value)) if isinstance(value, str) else None


def is_number(cell: Any) -> bool:
    """Whether it is one, or text that reads as one."""
    try:
        float(str(cell))
    except ValueError:
        return False
    return True


def refuse_masked(name: str, values: Any) -> None:
    """What NumPy's mask hides would be used as if it were there."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        rows = np.unique(np.nonzero(np.atleast_1d(np.ma.getmaskarray(values)))[0])
        raise DataError(
            f"{name} has masked values in {rows_text(rows)}, counted from 0: expected none. Fill them in, or drop "
            "these rows."
        )


@dataclass(frozen=True, eq=False)
class FrameColumn:
    """A column as it came, whatever the library: `dtype` is its own name for the type."""

    name: str
    dtype: str
    kind: Literal["number", "level", "time", "other"]
    make_cells: Callable[[], Iterable[Any]]
    make_numbers: Callable[[], Any] | None = None  # for kind "number"
    declared: tuple[Any, ...] | None = None  # categories in the user's order

    @cached_property
    def cells(self) -> list[Any]:
        return list(self.make_cells())

    def numbers(self) -> Floats | None:
        """As floats, NaN where missing; None if the cells are not numbers."""
        if self.make_numbers is not None:
            return np.asarray(self.make_numbers(), dtype=np.float64)
        levels = [level_of(cell) for cell in self.cells] if self.kind == "level" else [None]
        if any(level is None or level.sort == "str" for level in levels):
            return None
        return np.array([np.nan if level is None or level.value is None else level.value for level in levels], float)

    def levels(self) -> list[Level]:
        """A level for each row."""
        levels = []
        for row, cell in enumerate(self.cells):
            level = level_of(cell)
            if level is None:
                advice = f"Convert the column, e.g. to text: X[{self.name!r}].astype(str)."
                if self.kind == "time" or isinstance(cell, date | time | timedelta | np.datetime64 | np.timedelta64):
                    advice = TIME_ADVICE
                elif isinstance(cell, Decimal | Fraction):
                    advice = f"Convert the column to numbers: X[{self.name!r}].astype(float)."
                raise DataError(
                    f"Column {self.name!r}: expected levels that are text, bool or numbers, got {cell!r} of type "
                    f"{type(cell).__name__} in row {row} (dtype {self.dtype}). {advice}"
                )
            levels.append(level)
        return levels

    def known_levels(self) -> tuple[Level, ...]:
        """The levels that occur, as declared or else sorted; a missing one last."""
        present = set(self.levels())
        if any(isinstance(level.value, int) and not -(2**63) <= level.value < 2**64 for level in present):
            raise DataError(
                f"Column {self.name!r}: expected integer levels of at most 64 bits, got larger ones. Use text instead, "
                f"X[{self.name!r}].astype(str), or leave the column out."
            )
        declared = [level_of(category) for category in self.declared or ()]
        order = {level: at for at, level in enumerate(declared) if level is not None}
        return tuple(sorted(present, key=lambda level: (order.get(level, len(order)), level.order)))


def is_frame(X: Any) -> bool:
    """A pandas or polars data frame; neither library is imported to find out."""
    return any(library in sys.modules and isinstance(X, sys.modules[library].DataFrame) for library in READERS)


def columns_of(X: Any) -> tuple[int, list[FrameColumn]]:
    """Number of rows, and the columns."""
    for library, reader in READERS.items():
        if library in sys.modules and isinstance(X, sys.modules[library].DataFrame):
            columns = reader(X)
            names = [column.name for column in columns]
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise DataError(f"Expected columns of different names, got {quoted(twice)} more than once: rename.")
            return len(X), columns
    X = np.asarray(X)
    if X.ndim != 2:
        raise DataError(f"Expected a data frame or an array of two axes (rows, columns), got {X.ndim}.")
    return len(X), [_array_column(f"x{i}", X[:, i]) for i in range(X.shape[1])]


def _array_column(name: str, values: Any) -> FrameColumn:
    if values.dtype.kind in "fiub":
        return FrameColumn(name, str(values.dtype), "number", values.tolist, lambda: values)
    kind: Literal["level", "other"] = "level" if values.dtype.kind in "OUT" else "other"
    return FrameColumn(name, str(values.dtype), kind, values.tolist)


def _pandas_columns(X: Any) -> list[FrameColumn]:
    from pandas import CategoricalDtype, PeriodDtype
    from pandas.api import types

    def read(name: Any, series: Any) -> FrameColumn:
        dtype = series.dtype
        make_numbers = declared = None
        kind: Literal["number", "level", "time", "other"]
        if isinstance(dtype, CategoricalDtype):
            kind, declared = "level", tuple(dtype.categories)
        elif getattr(dtype, "kind", None) in ("m", "M") or isinstance(dtype, PeriodDtype):
            kind = "time"
        elif types.is_complex_dtype(dtype):
            kind = "other"
        elif types.is_numeric_dtype(dtype) and not types.is_bool_dtype(dtype):
            kind = "number"
            make_numbers = partial(series.to_numpy, dtype=np.float64, na_value=np.nan)
        else:
            arrow = getattr(dtype, "pyarrow_dtype", None)
            temporal = arrow is not None and str(arrow).startswith(("date", "time", "duration"))
            kind = "time" if temporal else "level"
        return FrameColumn(str(name), str(dtype), kind, series.tolist, make_numbers, declared)

    return [read(name, X.iloc[:, i]) for i, name in enumerate(X.columns)]


def _polars_columns(X: Any) -> list[FrameColumn]:
    import polars as pl

    def read(series: Any) -> FrameColumn:
        dtype = series.dtype
        make_numbers = declared = None
        kind: Literal["number", "level", "time", "other"]
        if dtype.is_numeric() or dtype == pl.Null:
            kind = "number"
            make_numbers = series.cast(pl.Float64).to_numpy
        elif dtype.is_temporal():
            kind = "time"
        else:
            kind = "other" if dtype.is_nested() or dtype == pl.Binary else "level"
            declared = tuple(dtype.categories.to_list()) if dtype == pl.Enum else None
        return FrameColumn(series.name, str(dtype), kind, series.to_list, make_numbers, declared)

    return [read(series) for series in X.get_columns()]


READERS: dict[str, Callable[[Any], list[FrameColumn]]] = {"pandas": _pandas_columns, "polars": _polars_columns}


def rows_text(rows: Any) -> str:
    shown = ", ".join(str(row) for row in rows[:SHOWN])
    return f"row{'s' if len(rows) > 1 else ''} {shown}" + (f", ... {len(rows)} in all" if len(rows) > SHOWN else "")
