"""Inputs and response as the core sees them: scaled leaf columns, integer codes for the tree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treedgp.errors import ConfigError, DataError

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

SCALINGS = ("minmax", "quantile")  # of numeric inputs
SMALLEST_RANGE = 1e-150  # of a response; and 1 / SMALLEST_RANGE is the largest
FARTHEST = 1e100  # of a scaled input: what leaves make of it, such as its square, is finite


@dataclass(frozen=True, eq=False)
class NumericColumn:
    """A numeric input: its range and the cuts between its distinct training values, in the user's units.

    The leaves see it scaled to 0 .. 1: linearly, or through knots and heights, the piecewise-linear distribution
    function of the training values, clipped outside their range.
    """

    name: str
    low: float
    high: float
    thresholds: Floats  # (distinct values - 1): a value <= thresholds[k] goes left of cut k
    knots: Floats | None = None  # scaling="quantile": the distinct training values
    heights: Floats | None = None  # and their mid-ranks, scaled to 0 .. 1

    @classmethod
    def learn(cls, name: str, values: Floats, scaling: str = "minmax") -> NumericColumn:
        distinct, counts = np.unique(values, return_counts=True)
        if not math.isfinite(float(distinct[-1]) - float(distinct[0])):
            raise DataError(
                f"The range of column {name} must be a finite number, got {distinct[0]:g} .. {distinct[-1]:g}. "
                "Rescale the column."
            )
        lower, upper = distinct[:-1], distinct[1:]
        middle = 0.5 * lower + 0.5 * upper
        thresholds = np.where((middle >= lower) & (middle < upper), middle, lower)
        low, high = float(distinct[0]), float(distinct[-1])
        if scaling == "minmax":
            return cls(name, low, high, thresholds)
        ranks = np.cumsum(counts) - 0.5 * counts
        heights = (ranks - ranks[0]) / ((ranks[-1] - ranks[0]) or 1.0)
        return cls(name, low, high, thresholds, distinct, heights)

    @property
    def size(self) -> int:
        return len(self.thresholds) + 1

    def codes(self, values: Floats) -> Codes:
        return np.searchsorted(self.thresholds, values, side="left").astype(np.int32)

    def leaf_columns(self, values: Floats) -> list[Floats]:
        if self.knots is not None and self.heights is not None:
            return [_interpolated(values, self.knots, self.heights)]
        width = self.high - self.low
        if width == 0:  # what another value would do is not known, nor on what scale
            return [np.zeros(len(values))]
        with np.errstate(over="ignore"):  # an infinity is clipped
            scaled = (values - self.low) / width
        return [np.clip(scaled, -FARTHEST, FARTHEST)]


def _interpolated(values: Floats, knots: Floats, heights: Floats) -> Floats:
    """Linear between the knots and clipped outside; exact at a knot, and safe for knots next to each other."""
    if len(knots) == 1:
        return np.zeros(len(values))
    clipped = np.clip(values, knots[0], knots[-1])
    left = np.clip(np.searchsorted(knots, clipped, side="right") - 1, 0, len(knots) - 2)
    share = (clipped - knots[left]) / (knots[left + 1] - knots[left])
    return np.asarray(
        np.where(share < 1, heights[left] + share * (heights[left + 1] - heights[left]), heights[left + 1])
    )


@dataclass(frozen=True, eq=False)
class CategoricalColumn:
    """A categorical input: its training levels, in increasing order, and what to call each in print."""

    name: str
    levels: Floats
    labels: tuple[str, ...] = ()  # none given: the levels as numbers

    def __post_init__(self) -> None:
        if not self.labels:
            object.__setattr__(self, "labels", tuple(f"{level:g}" for level in self.levels))
        if len(self.labels) != len(self.levels):
            raise DataError(
                f"Column {self.name} has {len(self.levels)} levels in training, expected a label for each, "
                f"got {len(self.labels)}. Give the labels of the levels that occur, in their order."
            )

    @classmethod
    def learn(cls, name: str, values: Floats, labels: Sequence[str] = ()) -> CategoricalColumn:
        return cls(name, np.unique(values), tuple(labels))

    @property
    def size(self) -> int:
        return len(self.levels)

    def codes(self, values: Floats) -> Codes:
        """Index of the level; -1 for one not seen in training, which every rule sends to its rest side."""
        at = np.minimum(np.searchsorted(self.levels, values), self.size - 1)
        return np.where(self.levels[at] == values, at, -1).astype(np.int32)

    def leaf_columns(self, values: Floats) -> list[Floats]:
        """0/1 columns, the first level dropped; all 0 for an unseen level."""
        codes = self.codes(values)
        return [(codes == level).astype(np.float64) for level in range(1, self.size)]


Column = NumericColumn | CategoricalColumn


@dataclass(frozen=True, eq=False)
class InputEncoder:
    """Which columns the tree may split on, which the leaves see, and how each is coded."""

    columns: tuple[Column, ...]
    split: tuple[int, ...]
    leaf: tuple[int, ...]
    scaling: str = "minmax"

    @classmethod
    def learn(
        cls,
        X: Floats,
        names: Sequence[str],
        categorical: set[int],
        split: tuple[int, ...],
        leaf: tuple[int, ...],
        scaling: str = "minmax",
        labels: Mapping[int, Sequence[str]] | None = None,
    ) -> InputEncoder:
        """Learn from training inputs; labels: column index -> a name for each of its levels, for printing."""
        if not isinstance(scaling, str) or scaling not in SCALINGS:
            raise ConfigError(f"input_scaling must be one of {', '.join(map(repr, SCALINGS))}, got {scaling!r}.")
        labels = labels or {}
        columns: list[Column] = [
            CategoricalColumn.learn(name, X[:, i], labels.get(i, ()))
            if i in categorical
            else NumericColumn.learn(name, X[:, i], scaling)
            for i, name in enumerate(names)
        ]
        return cls(tuple(columns), split, leaf, scaling)

    @property
    def split_columns(self) -> list[Column]:
        return [self.columns[i] for i in self.split]

    def leaf_names(self) -> list[str]:
        """A name for each column the leaves see."""
        names: list[str] = []
        for column in (self.columns[i] for i in self.leaf):
            if isinstance(column, CategoricalColumn):
                names += [f"{column.name}={label}" for label in column.labels[1:]]
            else:
                names.append(column.name)
        return names

    def leaf_inputs(self, X: Floats) -> Floats:
        """(n, q), scaled."""
        columns = [values for i in self.leaf for values in self.columns[i].leaf_columns(X[:, i])]
        return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((len(X), 0))

    def codes(self, X: Floats) -> Codes:
        """(n, split columns)."""
        columns = [self.columns[i].codes(X[:, i]) for i in self.split]
        return np.ascontiguousarray(np.column_stack(columns)) if columns else np.empty((len(X), 0), np.int32)


@dataclass(frozen=True)
class ResponseScale:
    """z = y / width - center: range 1 and mean 0, which the priors are made for."""

    width: float
    center: float

    @classmethod
    def learn(cls, y: Floats) -> ResponseScale:
        width = (float(y.max()) - float(y.min())) or 1.0
        if not SMALLEST_RANGE <= width <= 1 / SMALLEST_RANGE:
            raise DataError(
                f"The range of y must lie between {SMALLEST_RANGE:g} and {1 / SMALLEST_RANGE:g} (its square is a "
                f"variance) or be 0, got {width:g}. Rescale y."
            )
        # The mean of equal values is not always that value: what is left of them would be large, or infinite.
        return cls(width, float(y[0]) if y.min() == y.max() else float(np.mean(y / width)))

    def scale(self, y: Floats) -> Floats:
        return y / self.width - self.center

    def unscale(self, z: Floats) -> Floats:
        return (z + self.center) * self.width
