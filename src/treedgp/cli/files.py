"""Tables in and out: CSV, TSV and Parquet."""

from __future__ import annotations

import csv
import itertools
import os
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api import types

from treedgp.errors import DataError, TreedGPError
from treedgp.posterior import io
from treedgp.words import counted

SEPARATED, PARQUET = (".csv", ".tsv"), (".parquet", ".pq")
NO_NAME = "Unnamed: 0"  # what pandas calls a first column without a name
# Spellings of a missing number, those of pandas. In a column of text they are words, and only an empty cell is missing.
NO_NUMBER: tuple[str, ...] = ("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "-NaN", "-nan", "#N/A N/A", "#N/A", "#NA")
NO_NUMBER += ("NA", "N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", "None")


def read_table(path: Path, text: Collection[str] | None = None) -> pd.DataFrame:
    """A data frame with a name for every column; the columns of `text` are text whatever they look like.

    None: those in which some cell is neither a number nor true or false, nor in NO_NUMBER.
    """
    if path.is_dir():
        raise DataError(f"Expected a file of data, got the folder {str(path)!r}. Give the path of a file in it.")
    suffix = _suffix(path)
    if not path.exists():
        raise DataError(f"Expected a file of data, but there is no {path}. Check the path; here is {os.getcwd()}.")
    frame = _read_parquet(path) if suffix in PARQUET else _read_separated(path, suffix, text)
    if frame.empty:
        size = f"{counted(len(frame), 'row')} and {counted(frame.shape[1], 'column')}"
        raise DataError(f"{path} has {size}: expected data. Is the file whole?")
    return frame


def write_table(frame: pd.DataFrame, path: Path) -> None:
    suffix = _suffix(path)
    if suffix in PARQUET:
        with _parquet_extra():
            frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if suffix == ".tsv" else ",")


def check_output(path: Path, *inputs: Path, table: bool = False) -> None:
    """A path that cannot be written is better known before the work than after it."""
    target = io.check_path(path)
    if table:
        _suffix(path)
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise DataError(f"Cannot write {path}: permission denied. Give another path.")
    if any(target.exists() and each.exists() and target.samefile(each) for each in inputs):
        raise DataError(f"Cannot write {path}: the output is the input. Give another path.")


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (*SEPARATED, *PARQUET):
        raise DataError(
            f"Expected a .csv, .tsv or .parquet file, got {path.name!r}. Export a spreadsheet as CSV, or rename."
        )
    return suffix


@contextmanager
def _parquet_extra() -> Iterator[None]:
    """Says what to install where pandas has no reader."""
    try:
        yield
    except ImportError as error:
        raise TreedGPError(
            "Parquet files need pyarrow, which is not installed. Run: pip install 'treedgp[parquet]', or use CSV."
        ) from error


def _read_parquet(path: Path) -> pd.DataFrame:
    with _parquet_extra():
        try:
            frame = pd.read_parquet(path)
        except (OSError, ValueError) as error:
            reason = str(error).rstrip(".")
            raise DataError(f"{path} is not a Parquet file, or is damaged: {reason}. Write it again.") from error
    for i, (_, column) in enumerate(frame.items()):
        if types.infer_dtype(column) == "decimal":  # objects, though numbers
            frame.isetitem(i, pd.to_numeric(column))
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _read_separated(path: Path, suffix: str, text: Collection[str] | None) -> pd.DataFrame:
    try:
        separator, names = _header(path, "\t" if suffix == ".tsv" else ",;\t")
        _check_names(path, names)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # "loss of data"
            frame = _parsed(path, separator, names, text or ())
            if text is None:
                is_text = [types.infer_dtype(frame[name]) == "string" for name in frame.columns]
                frame = _parsed(path, separator, names, frame.columns[is_text])
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not text in UTF-8 (byte {error.start}). Save it as CSV UTF-8; a spreadsheet has to be exported."
        ) from error
    except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ").rstrip(".")
        if isinstance(error, pd.errors.ParserWarning):  # "Length of header ..."
            reason = "some have more"
        raise DataError(
            f"{path} does not have {counted(len(names), 'value')}, one for each column name, in every line: {reason}. "
            "Put text that contains the separator into double quotes, close every quote, keep one name for each "
            "column, and remove comments above the names."
        ) from error
    return _without_row_numbers(path, frame)


def _header(path: Path, separators: str) -> tuple[str, list[str]]:
    """Which of the separators the file has, and its column names, which may have line breaks inside quotes."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines, same = itertools.tee(itertools.dropwhile(lambda line: not line.strip(" \r\n"), file))
            reader = csv.reader((re.sub(f"[{separators}]", "\t", line) for line in lines), delimiter="\t")
            next(reader, None)
            first = "".join(itertools.islice(same, reader.line_num))
        separator = max(separators, key=re.sub('"[^"]*"', "", first).count)
        return separator, next(csv.reader([first], delimiter=separator), [])
    except csv.Error as error:
        raise DataError(
            f"{path}: expected a line of column names, got one that cannot be read: {error}. Close every double quote."
        ) from error


def _parsed(path: Path, separator: str, names: list[str], text: Collection[str]) -> pd.DataFrame:
    return pd.read_csv(
        path,
        sep=separator,
        encoding="utf-8-sig",
        index_col=False,
        low_memory=False,
        dtype={name: str for name in names if name in text},
        keep_default_na=False,
        na_values={name: [""] if name in text else ["", *NO_NUMBER] for name in names},
    )


def _check_names(path: Path, names: list[str]) -> None:
    if not names:
        raise DataError(f"{path} is empty: expected a line of column names, then a line for each row.")
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice and twice != [""]:
        shown = ", ".join(map(repr, twice))
        raise DataError(f"{path}: expected columns of different names, got {shown} more than once. Rename in the file.")
    unnamed = [i for i, name in enumerate(names) if not name.strip()]
    if unnamed not in ([], [0]):
        raise DataError(f"{path}: column {unnamed[-1] + 1} has no name in the first line. Name it, or remove it.")


def _without_row_numbers(path: Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Data frames saved with their index start with a column of row numbers, which would pass for an input."""
    if NO_NAME not in frame.columns:
        return frame
    values = frame[NO_NAME].to_numpy()
    if values.dtype.kind != "i" or not np.array_equal(values - values[0], np.arange(len(values))):
        raise DataError(f"{path}: column 1 has no name in the first line. Name it, or remove it.")
    warnings.warn(f"{path}: the first column has no name and counts the rows; it is left out.", stacklevel=2)
    return frame.drop(columns=NO_NAME)
