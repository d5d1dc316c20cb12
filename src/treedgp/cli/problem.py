"""A table as a problem to fit: target, inputs, and the mistakes that only the file shows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
import pandas as pd
from pandas.api import types

from treedgp.cli.files import NO_NUMBER
from treedgp.errors import DataError
from treedgp.estimators.frames import is_number
from treedgp.estimators.inputs import InputSchema
from treedgp.words import counted

SHOWN = 10
ID_SHARE = 0.5  # of rows: a text column with more levels than that is a name, not a category
ID_LEVELS = 10
STRAY_SHARE = 0.5  # of values that are numbers: the rest of a text column with more is a slip
THOUSANDS = re.compile(r"-?\d{1,3}(,\d{3})+")


@dataclass(frozen=True, eq=False)
class Table:
    """Inputs and target of the rows that are used."""

    X: pd.DataFrame
    y: pd.Series
    categorical: tuple[str, ...]
    dropped: int  # rows

    @property
    def numeric(self) -> tuple[str, ...]:
        return tuple(name for name in self.X.columns if name not in self.categorical)


def make_table(
    frame: pd.DataFrame, target: str, ignore: Sequence[str], categorical: Sequence[str], drop_missing: bool
) -> Table:
    names = list(frame.columns)
    for option, wanted in (("--target", [target]), ("--ignore", ignore), ("--categorical", categorical)):
        for name in wanted:
            check_column(option, name, names)
    if target in ignore or target in categorical:
        raise DataError(f"The target {target!r} cannot be in --ignore or --categorical too. Leave it out there.")
    frame = frame.drop(columns=list(ignore))
    inputs = [name for name in frame.columns if name != target]
    if not inputs:
        raise DataError(f"Expected at least one input column beside the target {target!r}, got none.")
    chosen = [name for name in inputs if name in categorical or not _is_numeric(frame[name])]
    for name in inputs:
        if name not in categorical:
            _check_stray_text(frame[name])
    InputSchema.learn(frame[inputs], chosen)  # refuses what fit would, before anything is said of it
    nested = [cell for cell in frame[target] if not types.is_hashable(cell)]
    if nested:
        raise DataError(
            f"Expected numbers or classes in the target {target!r}, got {type(nested[0]).__name__}. Give another "
            "--target, or one value in each row."
        )
    frame, dropped = _without_missing(frame, [target, *(name for name in inputs if name not in chosen)], drop_missing)
    if frame[target].nunique() < 2:
        raise DataError(
            f"The target {target!r} is {frame[target].tolist()[0]!r} in each of {counted(len(frame), 'row')}: expected "
            "at least two values, or classes. Is it the right column, and the whole file?"
        )
    for name in chosen:
        _warn_of_identifier(frame[name])
    return Table(frame[inputs], frame[target], tuple(chosen), dropped)


def check_column(option: str, name: str, names: Sequence[str]) -> None:
    if name in names:
        return
    same = [other for other in names if other.strip().lower() == name.strip().lower()]
    close = same or get_close_matches(name, names)
    shown = ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
    hint = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"The columns are {shown}."
    if all(is_number(other) for other in names):
        hint += " They look like data: the first line of the file must hold the names."
    raise DataError(f"{option}: expected the name of a column of the file, got {name!r}. {hint}")


def _is_numeric(column: pd.Series) -> bool:
    return types.is_numeric_dtype(column) and not types.is_bool_dtype(column)


def _check_stray_text(column: pd.Series) -> None:
    if not (types.is_object_dtype(column) or types.is_string_dtype(column)):
        return
    present = column.dropna()
    present = present[[str(value) not in NO_NUMBER for value in present]]
    numeric = np.array([is_number(value) for value in present])
    comma = np.array([is_number(str(value).replace(",", ".", 1)) for value in present])
    thousands = all(THOUSANDS.fullmatch(str(value)) for value in present[~numeric])
    if len(present) and (comma.all() or thousands) and not numeric.all():
        what, advice = "decimal commas", "Replace them"
        if thousands:
            what += " or thousands separators"
            advice = "Replace decimal commas by points, remove thousands separators"
        raise DataError(
            f"Column {column.name!r} has {what}, such as {present[~numeric].iloc[0]!r}: expected decimal "
            f"points alone. {advice}, or add --categorical {column.name} if they are categories."
        )
    if len(present) and STRAY_SHARE <= numeric.mean() < 1:
        strays = present[~numeric]
        raise DataError(
            f"Column {column.name!r} has {int(numeric.sum())} numbers and {counted(len(strays), 'text')}, such as "
            f"{strays.iloc[0]!r} in data row {strays.index[0] + 1}: expected one or the other. Correct the file (leave "
            f"unknown numbers empty), or add --categorical {column.name} or --ignore {column.name}."
        )


def _without_missing(frame: pd.DataFrame, columns: list[str], drop: bool) -> tuple[pd.DataFrame, int]:
    """The target is the first of the columns. Categorical inputs are none of them: there a missing value is a level."""
    missing = frame[columns].isna()
    for name in missing.columns[missing.all()]:
        advice = "Give another --target" if name == columns[0] else f"Leave it out with --ignore {name}"
        raise DataError(f"Column {name!r} has no values at all. {advice}, or fill it in.")
    rows = missing.any(axis=1)
    if rows.any() and not drop:
        name = missing.columns[missing.any()][0]
        where = ", ".join(str(row + 1) for row in np.flatnonzero(missing[name])[:5])
        raise DataError(
            f"Column {name!r} lacks {int(missing[name].sum())} of {len(frame)} values (data rows {where}"
            f"{', ...' if missing[name].sum() > 5 else ''}): expected a value in every row. Fill them in, or add "
            f"--drop-missing to leave out such rows{'' if name == columns[0] else ', or --ignore for the column'}."
        )
    if rows.all():
        raise DataError(f"Each of the {len(frame)} rows lacks a value: none is left. Leave out columns with --ignore.")
    return frame[~rows].reset_index(drop=True), int(rows.sum())


def _warn_of_identifier(column: pd.Series) -> None:
    levels = column.nunique()
    if levels > max(ID_LEVELS, ID_SHARE * len(column)):
        warnings.warn(
            f"Column {column.name!r} has {levels} levels in {len(column)} rows: names, numbers or dates of rows tell "
            f"little about new rows. Consider --ignore {column.name}.",
            stacklevel=3,
        )
