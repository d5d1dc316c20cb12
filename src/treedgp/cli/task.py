"""Regression or classification?"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import pandas as pd
from pandas.api import types

from treedgp.errors import DataError

MOST_CLASSES = 10  # of an integer target
ROWS_A_CLASS = 5


class Task(StrEnum):
    regression = "regression"
    classification = "classification"


@dataclass(frozen=True)
class Choice:
    """The task, and the words that say why."""

    task: Task
    reason: str


def as_labels(target: pd.Series) -> pd.Series:
    """Whole numbers as integers: a missing value in a file makes its whole column floats."""
    if types.is_float_dtype(target) and _is_whole(target):
        return target.astype(np.int64)
    return target


def infer_task(target: pd.Series) -> Choice:
    """By the values of the target: text, truth values and few integers are classes, other numbers are measured."""
    levels = target.nunique()
    truth = types.is_bool_dtype(target) or types.infer_dtype(target) == "boolean"  # objects, where a cell was empty
    if truth or not types.is_numeric_dtype(target):
        kind = "true/false" if truth else "text"
        return Choice(Task.classification, f"{target.name!r} is {kind} with {levels} values")
    if _is_whole(target) and levels <= MOST_CLASSES and len(target) >= ROWS_A_CLASS * levels:
        return Choice(Task.classification, f"{target.name!r} takes only {levels} whole numbers")
    return Choice(Task.regression, f"{target.name!r} is numeric with {levels} different values")


def check_target(target: pd.Series, choice: Choice) -> None:
    """The estimators refuse such a target too, but name classes of Python."""
    if choice.task is Task.regression:
        odd = target[pd.to_numeric(target, errors="coerce").isna()]
        wanted, came, other = "numbers", "text", Task.classification
    else:
        odd = target[target % 1 != 0] if types.is_float_dtype(target) else target.iloc[:0]
        wanted, came, other = "classes", "continuous numbers", Task.regression
    if len(odd):
        raise DataError(
            f"Expected {wanted} in the target {target.name!r} ({choice.task}, {choice.reason}), got {came} such as "
            f"{odd.tolist()[0]!r}. Give --task {other}, or another --target; a --preset has to be for the same task."
        )


def _is_whole(target: pd.Series) -> bool:
    return bool((target.to_numpy(dtype=np.float64) % 1 == 0).all())
