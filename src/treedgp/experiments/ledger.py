"""A CSV file of every repetition, written row by row: a killed run continues where it stopped."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

import pandas as pd

from treedgp.errors import FormatError
from treedgp.experiments.job import Job, Key, Outcome

KEY_COLUMNS = ("model", "repetition", "settings")


@dataclass
class Ledger:
    """Rows of the file, by key."""

    path: Path
    columns: tuple[str, ...]
    rows: dict[Key, dict[str, float]] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, columns: tuple[str, ...]) -> Ledger:
        """Reads what is there; a last line without its end, left by a kill, is dropped."""
        ledger = cls(path, columns)
        header = [*KEY_COLUMNS, *columns]
        whole = path.read_text() if path.exists() else ""
        text = whole[: whole.rfind("\n") + 1]
        if not text:
            path.write_text(",".join(header) + "\n")
            return ledger
        if text != whole:
            path.write_text(text)
        lines = csv.reader(text.splitlines())
        found = next(lines)
        if found != header:
            raise ledger._error(f"expected the columns {', '.join(header)}, got {', '.join(found)}")
        for number, line in enumerate(lines, start=2):
            try:
                model, repetition, settings, *scores = line
                values = dict(zip(columns, map(float, scores), strict=True))
                ledger.rows[model, int(repetition), settings] = values
            except ValueError as error:
                raise ledger._error(f"line {number} is not a row of results ({error})") from error
        return ledger

    def append(self, job: Job, outcome: Outcome) -> None:
        """In place of the row with the same key, if there is one."""
        if job.key in self.rows:
            self._drop(job.key)
        values = {name: float(outcome.scores[name]) for name in self.columns}
        with self.path.open("a", newline="") as file:
            self._write_row(file, job.key, values)
            file.flush()
            os.fsync(file.fileno())
        self.rows[job.key] = values

    def frame(self, keys: list[Key]) -> pd.DataFrame:
        """The rows of these keys that are there."""
        there = [dict(zip(KEY_COLUMNS, key, strict=True)) | self.rows[key] for key in keys if key in self.rows]
        return pd.DataFrame(there, columns=[*KEY_COLUMNS, *self.columns])

    def _drop(self, key: Key) -> None:
        del self.rows[key]
        half = self.path.with_suffix(".half.csv")
        with half.open("w", newline="") as file:
            file.write(",".join([*KEY_COLUMNS, *self.columns]) + "\n")
            for other, values in self.rows.items():
                self._write_row(file, other, values)
        half.replace(self.path)

    def _write_row(self, file: TextIO, key: Key, values: dict[str, float]) -> None:
        csv.writer(file, lineterminator="\n").writerow([*key, *(repr(values[name]) for name in self.columns)])

    def _error(self, what: str) -> FormatError:
        return FormatError(f"{self.path}: {what}. Remove the file, or write to another folder (-o).")
