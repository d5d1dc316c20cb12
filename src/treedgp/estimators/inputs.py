"""The user's columns: data frames and arrays read into one matrix of numbers and level indices."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import validate_data

from treedgp.errors import ConfigError, DataError, DataTypeError, FormatError, TreedGPError, frames_to_the_user
from treedgp.estimators.columns import chosen_columns
from treedgp.estimators.frames import (
    MISSING,
    SHOWN,
    SORTS,
    TIME_ADVICE,
    FrameColumn,
    Level,
    columns_of,
    is_frame,
    is_number,
    level_of,
    refuse_masked,
    rows_text,
)
from treedgp.estimators.slips import warn_of_lost_digits, warn_of_mixtures
from treedgp.model.data import Floats
from treedgp.words import quoted

FAMILIES = {"str": "text", "bool": "bool", "int": "numbers", "float": "numbers"}


@dataclass(frozen=True)
class InputSchema:
    """What the training columns are: names, and for each categorical one its levels (None: numeric)."""

    names: tuple[str, ...]
    is_frame: bool
    levels: tuple[tuple[Level, ...] | None, ...]

    @classmethod
    def learn(cls, X: Any, categorical_features: Any = "from_dtype") -> InputSchema:
        """Decide which columns of a frame or numeric array are categorical, and learn their levels.

        "from_dtype": the category, text, object and bool columns of a frame. Levels are those that occur, in the
        order of their category dtype or polars Enum, else sorted; a missing value is the last.
        """
        _, columns = columns_of(X)
        names = tuple(column.name for column in columns)
        if isinstance(categorical_features, str) and categorical_features == "from_dtype":
            categorical = {i for i, column in enumerate(columns) if column.kind == "level"}
        elif isinstance(categorical_features, str):
            raise ConfigError(
                "categorical_features must be 'from_dtype', None, a mask, or a list of column indices or names, "
                f"got {categorical_features!r}."
            )
        else:
            categorical = set(chosen_columns("categorical_features", categorical_features, [], names))
        _check_types(columns, categorical)
        levels = tuple(column.known_levels() if i in categorical else None for i, column in enumerate(columns))
        return cls(names, is_frame(X), levels)

    @property
    def categorical(self) -> tuple[int, ...]:
        """Indices of the categorical columns."""
        return tuple(i for i, levels in enumerate(self.levels) if levels is not None)

    @property
    def needs_objects(self) -> bool:
        """Whether a level is not a number, so that an array of floats cannot hold the columns."""
        return any(level.sort in ("str", "bool") for levels in self.levels for level in levels or ())

    def labels(self, column: int | str) -> list[str]:
        """A name for each level, all different; none for a numeric column."""
        levels = self.levels[self.names.index(column) if isinstance(column, str) else column] or ()
        plain = [level.label for level in levels]
        exact = ["missing" if level == MISSING else repr(level.value) for level in levels]
        return [full if plain.count(short) > 1 else short for short, full in zip(plain, exact, strict=True)]

    def code(self, column: int, cell: Any) -> float:
        """The index of the level that a cell of a categorical column holds, -1 if it holds another."""
        level = level_of(cell)
        index = {known: float(at) for at, known in enumerate(self.levels[column] or ())}
        return -1.0 if level is None else _place(level, index)

    def read(self, X: Any) -> Floats:
        """(n, columns): numbers, and for a categorical column the index of the level, -1 if it is a new one.

        New levels give one UserWarning. Missing or infinite numbers and columns of another type are a DataError.
        """
        n, columns = columns_of(X)
        self._check_layout(columns, is_frame(X))
        matrix = np.empty((n, len(columns)))
        unseen: dict[str, list[Level]] = {}
        for i, (column, levels) in enumerate(zip(columns, self.levels, strict=True)):
            if levels is None:
                matrix[:, i] = self._numbers(i, column)
            else:
                matrix[:, i], new = self._codes(i, column, levels)
                if new:
                    unseen[self.names[i]] = new
        self._check_finite(matrix)
        _warn_of(unseen)
        return matrix

    def _check_layout(self, columns: list[FrameColumn], framed: bool) -> None:
        if len(columns) != len(self.names):
            raise DataError(f"Expected {len(self.names)} columns as in training, got {len(columns)}.")
        got = tuple(column.name for column in columns)
        if self.is_frame and framed and got != self.names:
            what = "the same columns in another order" if sorted(got) == sorted(self.names) else quoted(got)
            raise DataError(
                f"Expected the columns {quoted(self.names)} in this order, as in training, got {what}. "
                "Select them from the frame: X[list of the training columns]."
            )

    def _numbers(self, i: int, column: FrameColumn) -> Floats:
        numbers = column.numbers()
        if numbers is None:
            raise DataError(
                f"Column {self.names[i]!r} is numeric in training: expected numbers, got dtype {column.dtype}"
                f"{_example(column)}. Convert it to what it was in training."
            )
        return numbers

    def _codes(self, i: int, column: FrameColumn, levels: tuple[Level, ...]) -> tuple[Floats, list[Level]]:
        """The index of the level of each row, and the new levels."""
        rows = column.levels()
        index = {level: float(at) for at, level in enumerate(levels)}
        new = set(rows) - set(index)
        known = {FAMILIES[level.sort] for level in levels if level != MISSING}
        got = {FAMILIES[row.sort] for row in rows if row != MISSING}
        if known and got and not known & got:
            raise DataError(
                f"The levels of column {self.names[i]!r} are {' and '.join(sorted(known))} in training: expected "
                f"the same, got {' and '.join(sorted(got))} (dtype {column.dtype}). Convert the column to what it "
                "was in training."
            )
        places = {level: _place(level, index) for level in set(rows)}
        unseen = sorted((level for level in new if places[level] < 0), key=lambda level: level.order)
        return np.array([places[row] for row in rows], dtype=np.float64), unseen

    def _check_finite(self, matrix: Floats) -> None:
        numeric = [i for i, levels in enumerate(self.levels) if levels is None]
        for test, what, advice in (
            (
                np.isnan,
                "NaN (a missing number)",
                "Impute the numbers, e.g. with sklearn.impute.SimpleImputer, or drop the rows or columns.",
            ),
            (np.isinf, "infinity", "Replace or drop these values."),
        ):
            bad = {self.names[i]: np.flatnonzero(test(matrix[:, i])) for i in numeric}
            found = [
                f"column {name!r} ({'every row' if len(rows) == len(matrix) > 1 else rows_text(rows)})"
                for name, rows in bad.items()
                if len(rows)
            ]
            if found:
                more = f" and {len(found) - SHOWN} more columns" if len(found) > SHOWN else ""
                raise DataError(
                    f"X contains {what} in {', '.join(found[:SHOWN])}{more}, rows counted from 0: expected finite "
                    f"numbers. {advice}"
                )

    def to_json(self) -> dict[str, Any]:
        """Plain JSON types; the type of each level is kept."""
        columns = [
            {"name": name, "levels": None if levels is None else [_level_to_json(level) for level in levels]}
            for name, levels in zip(self.names, self.levels, strict=True)
        ]
        return {"is_frame": self.is_frame, "columns": columns}

    @classmethod
    def from_json(cls, data: Any) -> InputSchema:
        """What `to_json` gave; anything else is a FormatError."""
        _expect(isinstance(data, dict) and set(data) == {"is_frame", "columns"}, "is_frame and columns", data)
        _expect(isinstance(data["is_frame"], bool), "true or false for is_frame", data["is_frame"])
        _expect(isinstance(data["columns"], list) and data["columns"], "a list of columns", data["columns"])
        names: list[str] = []
        levels: list[tuple[Level, ...] | None] = []
        for column in data["columns"]:
            _expect(isinstance(column, dict) and set(column) == {"name", "levels"}, "a name and levels", column)
            _expect(isinstance(column["name"], str), "text for the name of a column", column["name"])
            names.append(column["name"])
            if column["levels"] is None:
                levels.append(None)
                continue
            _expect(isinstance(column["levels"], list) and column["levels"], "a list of levels", column["levels"])
            read = tuple(_level_from_json(level) for level in column["levels"])
            _expect(len(set(read)) == len(read), "different levels", column["levels"])
            levels.append(read)
        _expect(len(set(names)) == len(names), "different column names", names)
        return cls(tuple(names), data["is_frame"], tuple(levels))


def _place(level: Level, index: dict[Level, float]) -> float:
    """The index of a level among those of training, -1 if it is none of them."""
    # Integers come as floats where some are missing, and from arrays: equal numbers are the same level then.
    twin = Level({"int": "float", "float": "int"}.get(level.sort, ""), level.value)
    return index.get(level, index.get(twin, -1.0))


def _level_to_json(level: Level) -> list[Any]:
    infinite = isinstance(level.value, float) and not np.isfinite(level.value)
    return [level.sort, repr(level.value) if infinite else level.value]


def _level_from_json(data: Any) -> Level:
    _expect(isinstance(data, list) and len(data) == 2, "a level as [type, value]", data)
    sort, value = data
    _expect(isinstance(sort, str) and sort in SORTS, f"a level type among {', '.join(SORTS)}", sort)
    if sort == "float" and value in ("inf", "-inf"):
        value = float(value)
    _expect(type(value) is SORTS[sort] and value == value, f"a value of type {sort}", value)
    return Level(sort, value)


def _expect(condition: Any, expected: str, got: Any) -> None:
    if not condition:
        raise FormatError(
            f"The description of the input columns is damaged: expected {expected}, got {str(got)[:80]!r}. "
            "Save the model again."
        )


def _check_types(columns: list[FrameColumn], categorical: set[int]) -> None:
    """No dates, no nested values, and no text outside the categorical columns."""
    times = [column for column in columns if column.kind == "time"]
    if times:
        raise DataError(f"Expected numbers or levels, got dates or times in {_described(times)}. {TIME_ADVICE}")
    other = [column for column in columns if column.kind == "other"]
    if other:
        raise DataError(
            f"Expected numbers or levels, got {_described(other)}. Turn them into columns of real numbers or text, or "
            "leave them out."
        )
    text = [column for i, column in enumerate(columns) if i not in categorical and column.numbers() is None]
    if text:
        raise DataError(
            f"Expected numbers outside categorical_features, got text in {_described(text)}. List these columns in "
            "categorical_features, use categorical_features='from_dtype', or convert them to numbers."
        )


def _described(columns: list[FrameColumn]) -> str:
    return ", ".join(f"column {column.name!r} ({column.dtype})" for column in columns[:SHOWN])


def _example(column: FrameColumn) -> str:
    """A cell that is no number, if there is one not even as text."""
    odd = [cell for cell in column.cells if (level := level_of(cell)) is None or level.sort == "str"]
    return f" with {min(odd, key=is_number)!r}" if odd else ""


def _warn_of(unseen: dict[str, list[Level]]) -> None:
    if not unseen:
        return
    found = []
    for name, levels in unseen.items():
        shown = ", ".join(repr(level.value) if level.sort == "str" else level.label for level in levels[:SHOWN])
        more = f" and {len(levels) - SHOWN} more" if len(levels) > SHOWN else ""
        found.append(f"column {name!r}: {shown}{more}")
    warnings.warn(
        f"Levels not seen in training in {'; '.join(found)}. Every rule sends such a level to its rest side, and as "
        "0/1 columns in a leaf it is all 0.",
        UserWarning,
        stacklevel=frames_to_the_user(),
    )


def read_training(
    estimator: Any, X: Any, y: Any, categorical_features: Any, read_y: Callable[[Any], Any]
) -> tuple[InputSchema, Floats, Any]:
    """Check X and y as scikit-learn asks, set n_features_in_ and feature_names_in_; schema, matrix and y as read."""
    if y is None:
        with _typed_errors("Give y, one value for each row of X."):
            validate_data(estimator, X, None, skip_check_array=True)  # says that y is needed
    rows = _checked(estimator, X, reset=True, dtype=np.float64)
    schema = InputSchema.learn(rows, categorical_features)
    if isinstance(categorical_features, str):
        warn_of_mixtures(rows)
    matrix = schema.read(rows)
    warn_of_lost_digits(X, schema.categorical if schema.is_frame else ())
    with _typed_errors("Give one value of y for each row of X."):
        check_consistent_length(matrix, y)
    return schema, matrix, read_y(y)


def read_new(estimator: Any, schema: InputSchema, X: Any) -> Floats:
    """Check X against the training columns; the matrix."""
    if schema.needs_objects and isinstance(X, list | tuple):
        X = np.asarray(X, dtype=object)
    return schema.read(_checked(estimator, X, reset=False, dtype=None if schema.needs_objects else np.float64))


def _checked(estimator: Any, X: Any, *, reset: bool, dtype: Any) -> Any:
    """A frame as it is, with names and number of columns checked; anything else as an array."""
    if is_frame(X):
        columns_of(X)  # duplicate names, before scikit-learn trips over them
        in_training = "Select the training columns, in their order: X[list of them]."
        with _typed_errors("Give all columns names of one type." if reset else in_training):
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        if 0 in X.shape:
            raise DataError(f"X has shape {X.shape} while a minimum of 1 is required of rows and of columns.")
        return X
    if "polars" in sys.modules and isinstance(X, sys.modules["polars"].LazyFrame):
        raise DataError("Expected a data frame, got a LazyFrame of polars. Call its collect() first.")
    refuse_masked("X", X)
    as_in_training = "" if reset else ", its columns as in training"
    with _typed_errors(f"Give a data frame or an array of numbers, a row an observation{as_in_training}."):
        try:
            return validate_data(estimator, X, reset=reset, dtype=dtype, ensure_all_finite=False)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            raise DataError(
                f"Expected an array of numbers, got text: {error}. Text columns need a pandas or polars data frame; "
                "a transformer gives one after .set_output(transform='pandas')."
            ) from error


@contextmanager
def _typed_errors(advice: str) -> Iterator[None]:
    """scikit-learn's complaints as ours, with what to do."""
    try:
        yield
    except TreedGPError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        kind = DataTypeError if isinstance(error, TypeError) else DataError
        text = re.sub(r":?\n(array=|\[).*\n", ". ", str(error), flags=re.DOTALL).rstrip()  # without the array itself
        if "\n- " in text:
            text += "\n"
        else:
            text = text.rstrip(".") + ". "
        raise kind(text + advice) from error
