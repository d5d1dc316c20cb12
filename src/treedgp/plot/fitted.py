"""A fitted estimator as pictures need it: its training data, its columns, and predictions at made-up rows."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from treedgp.errors import ConfigError
from treedgp.estimators.base import TreedGPEstimator
from treedgp.estimators.columns import chosen_columns
from treedgp.model.data import CategoricalColumn, Column, Floats
from treedgp.model.spec import ModelSpec
from treedgp.plot.style import shorten
from treedgp.posterior.trees import Tree

DRAWS = 400  # for a picture: more change no pixel


@dataclass(frozen=True, eq=False)
class Fitted:
    """`X` holds numbers and, for a categorical column, indices of its levels; `y` the response or class indices."""

    model: Any
    columns: tuple[Column, ...]
    X: Floats  # (n, columns)
    y: Floats  # (n)

    @classmethod
    def of(cls, model: Any) -> Fitted:
        if not isinstance(model, TreedGPEstimator):
            advice = ": pass its last step, pipeline[-1]" if isinstance(model, Pipeline) else ""
            raise ConfigError(
                f"Expected a fitted TreedGPRegressor or TreedGPClassifier, got {type(model).__name__}{advice}."
            )
        check_is_fitted(model)
        session = model._session
        return cls(model, session.problem.encoder.columns, session.X, session.y)

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    @property
    def spec(self) -> ModelSpec:
        """The model as it was fitted."""
        spec: ModelSpec = self.model._session.problem.spec
        return spec

    @property
    def leaves_use_columns(self) -> bool:
        return self.spec.leaf != "constant"

    # --- classes and trees ---

    @property
    def is_classifier(self) -> bool:
        return bool(is_classifier(self.model))

    @property
    def classes(self) -> list[str]:
        """Labels as text."""
        return [str(label) for label in self.model.classes_]

    @property
    def targets(self) -> list[Any]:
        """What has a tree of its own: every class but the base, or nothing in particular."""
        return list(self.model.posterior_.tree_targets)

    @property
    def has_tree(self) -> bool:
        """Whether a tree is there and may split on something."""
        return bool(self.spec.tree) and len(self.frequencies) > 0

    def map_trees(self, target: Any = None) -> dict[int, Tree]:
        """By height, of one target; of the first if none is named."""
        trees: dict[int, Tree] = self.model.posterior_.map_trees(target=self._named(target))
        return trees

    def best_tree(self, target: Any = None) -> Tree:
        tree: Tree = self.model.posterior_.map_tree(self._named(target))
        return tree

    def tree_title(self, target: Any = None) -> str | None:
        """Whose tree it is, where there are several."""
        return f"tree of class {shorten(str(self._named(target)))}" if len(self.targets) > 1 else None

    def _named(self, target: Any) -> Any:
        return self.targets[0] if target is None else target

    @cached_property
    def frequencies(self) -> pd.DataFrame:
        """(column, target): share of draws whose tree splits on the column."""
        posterior = self.model.posterior_
        return pd.DataFrame({str(target): posterior.split_frequencies(target=target) for target in self.targets})

    # --- columns ---

    def index(self, column: str | int, argument: str = "column") -> int:
        return chosen_columns(argument, [column], [], self.names)[0]

    def indices(self, columns: Any, how_many: str) -> list[int]:
        """Of the argument `columns`, in the order given. A text is no list of its letters."""
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise ConfigError(
                f"columns must be a list of {how_many} columns, such as {self.names[:2]}, got {columns!r}."
            )
        return [self.index(column, "columns") for column in columns]

    def is_categorical(self, index: int) -> bool:
        return isinstance(self.columns[index], CategoricalColumn)

    def ranked(self, numeric: bool = True) -> list[int]:
        """Columns by how often trees split on them, then in their order; only the numeric ones or all."""
        shares = self.frequencies.mean(axis=1)
        wanted = [i for i in range(len(self.names)) if not (numeric and self.is_categorical(i))]
        return sorted(wanted, key=lambda i: (-float(shares.get(self.names[i], 0.0)), i))

    def values(self, index: int, n: int) -> Floats:
        """Where to look along a column: n values over its range, or every level."""
        column = self.columns[index]
        if isinstance(column, CategoricalColumn):
            return np.arange(float(column.size))
        return np.linspace(column.low, column.high, n)

    # --- made-up rows ---

    def typical(self, at: Mapping[str | int, Any] | None = None) -> Floats:
        """(columns): medians and commonest levels, with the values of `at` (column -> number or level) in place."""
        if at is not None and not isinstance(at, Mapping):
            raise ConfigError(
                f"at must be a dict, column -> number or level, such as {{{self.names[0]!r}: ...}}, got {at!r}."
            )
        row = np.median(self.X, axis=0)
        for i, column in enumerate(self.columns):
            if isinstance(column, CategoricalColumn):
                row[i] = np.bincount(self.X[:, i].astype(int)).argmax()
        for name, value in (at or {}).items():
            i = self.index(name, "at")
            row[i] = self._code(i, value)
        return row

    def _code(self, index: int, value: Any) -> float:
        column = self.columns[index]
        if isinstance(column, CategoricalColumn):
            code: float = self.model._session.schema.code(index, value)
            if code >= 0:
                return code
            if str(value) in column.labels:  # as it is called in print
                return float(column.labels.index(str(value)))
            levels = ", ".join(column.labels)
            raise ConfigError(f"at: expected a level of {column.name!r} ({levels}), got {value!r}.")
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise ConfigError(f"at: expected a finite number for {column.name!r}, got {value!r}.")
        return number

    def rest(self, row: Floats, shown: list[int]) -> str:
        """In words: where the columns that are not shown stand."""
        others = [i for i in range(len(row)) if i not in shown]
        if len(others) > 3:
            return "others at their median or commonest level"
        places = (f"{shorten(self.names[i])} = {self._text(self.columns[i], row[i])}" for i in others)
        unbroken = ", ".join(place.replace(" ", "\N{NO-BREAK SPACE}") for place in places)
        return textwrap.fill(unbroken, 48).replace("\N{NO-BREAK SPACE}", " ")

    @staticmethod
    def _text(column: Column, value: float) -> str:
        if isinstance(column, CategoricalColumn):
            return shorten(column.labels[int(value)], 12)
        sizes = (abs(value), column.high - column.low)
        decimals = max((2 - math.floor(math.log10(size)) for size in sizes if size > 0), default=0)
        return f"{round(float(value), max(0, decimals)):.12g}"

    # --- predictions ---

    @cached_property
    def predictor(self) -> Any:
        """A `Predictor` or `ClassPredictor` with enough draws for a picture."""
        predictor = self.model.posterior_.predictor
        return predictor.thinned(DRAWS)

    def probabilities(self, X: Floats) -> Floats:
        """(row, class)."""
        probabilities: Floats = self.predictor.shares(X)[0]
        return probabilities


def varied(row: Floats, changes: Mapping[int, Floats]) -> Floats:
    """(n, columns): the row n times, with the columns in `changes` replaced."""
    rows = np.repeat(row[None, :], len(next(iter(changes.values()))), axis=0)
    for index, values in changes.items():
        rows[:, index] = values
    return rows
