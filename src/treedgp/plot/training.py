"""Training rows as points, and the axes they stand on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from treedgp.model.data import CategoricalColumn, Floats
from treedgp.plot.fitted import Fitted
from treedgp.plot.style import (
    MANY_POINTS,
    MEAN_MAP,
    PAPER,
    POINTS,
    colour,
    colour_bar,
    form,
    grow,
    key,
    label,
    legend,
    level_ticks,
    number_ticks,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SPREAD = 0.3  # of rows around their level
STEPS = (0.7548776662, 0.5698402910)  # the powers of 1 over the plastic number: their multiples fill a square evenly
SIZE = 16
CLASS_ROW, FEW_CLASSES = 0.2, 12  # inches for the rows of each class beyond these


def draw_rows(ax: Axes, fitted: Fitted, across: int, up: int) -> None:
    """Over two columns; colour is the response or the class."""
    x, y = _spread(fitted, across, STEPS[0]), _spread(fitted, up, STEPS[1])
    if fitted.is_classifier:
        scatter_by_class(ax, fitted, x, y)
    else:
        colour_bar(ax, _scatter(ax, x, y, c=fitted.y, cmap=MEAN_MAP), "y")


def draw_response(ax: Axes, fitted: Fitted, across: int) -> None:
    """The response, or the class, against one column."""
    x = _spread(fitted, across, STEPS[0])
    if fitted.is_classifier:
        scatter_by_class(ax, fitted, x, fitted.y + _offsets(len(x), STEPS[1]), with_legend=False)
        grow(ax, CLASS_ROW * (len(fitted.classes) - FEW_CLASSES))
        level_ticks(ax, "y", fitted.classes)
        label(ax, y="class")
    else:
        _scatter(ax, x, fitted.y, c=colour(0), alpha=0.7)
        label(ax, y="y")


def scatter_by_class(ax: Axes, fitted: Fitted, x: Floats, y: Floats, with_legend: bool = True) -> None:
    for c, name in enumerate(fitted.classes):
        rows = fitted.y == c
        _scatter(ax, x[rows], y[rows], c=colour(c), marker=form(c, POINTS), label=key(name))
    if with_legend:
        legend(ax, above=len(fitted.classes), handletextpad=0)


def column_axis(ax: Axes, axis: Literal["x", "y"], fitted: Fitted, index: int, rest: str = "") -> None:
    """Label, below it where the `rest` of the columns stand, and, for a categorical column, its levels."""
    column = fitted.columns[index]
    if isinstance(column, CategoricalColumn):
        level_ticks(ax, axis, column.labels)
    elif column.high - column.low > 1e-4 * max(abs(column.low), abs(column.high)):
        number_ticks(ax, axis)
    name = shorten(column.name, 40 if axis == "x" else 28)  # pictures are wider than high
    label(ax, **{axis: f"{name}\n({rest})" if rest else name})


def _spread(fitted: Fitted, index: int, step: float) -> Floats:
    """The training values of a column; levels are spread out so that rows do not hide each other."""
    values = fitted.X[:, index]
    return values + _offsets(len(values), step) if fitted.is_categorical(index) else values


def _offsets(n: int, step: float) -> Floats:
    return np.asarray(SPREAD * (2 * (step * np.arange(n) % 1) - 1), dtype=np.float64)


def _scatter(ax: Axes, x: Floats, y: Floats, **options: Any) -> Any:
    many = len(x) > MANY_POINTS
    size = SIZE / 2 if many else SIZE
    return ax.scatter(x, y, s=size, edgecolors=PAPER, linewidths=0.3, zorder=2, rasterized=many, **options)
