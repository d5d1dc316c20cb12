"""The regions of a tree over one or two columns, with the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from treedgp.errors import ConfigError
from treedgp.model.data import CategoricalColumn, Floats
from treedgp.plot.fitted import Fitted, varied
from treedgp.plot.regions import leaf_of_rows, thresholds
from treedgp.plot.style import INK, MUTED, axes_for, label
from treedgp.plot.training import column_axis, draw_response, draw_rows
from treedgp.posterior.trees import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MARGIN = 0.04  # of a column's range, around the data
STRIP = 0.2  # height of the strip of split points, as a share of the axes


def partition(
    model: Any,
    ax: Axes | None = None,
    *,
    columns: Sequence[str | int] | None = None,
    at: Mapping[str | int, Any] | None = None,
    target: Any = None,
) -> Axes:
    """Draw the regions of the most probable tree, as `map_trees` finds it, over the training data.

    Over one column the response is on the other axis, and the strip at the bottom shows where the trees of all draws
    split. Over two columns, colour is the response or the class.

    Parameters
    ----------
    model
        A fitted estimator.
    ax
        Where to draw; None: a new figure.
    columns
        One or two columns; None: all if there are at most two, else the two that trees split on most.
    at
        Where the other columns stand (column -> number or level); by default at the median or commonest level.
    target
        The class whose tree is drawn, where each has its own; None: the first.
    """
    fitted = Fitted.of(model)
    shown = sorted(fitted.ranked(numeric=False)[:2]) if columns is None else fitted.indices(columns, "one or two")
    if len(set(shown)) != len(shown) or len(shown) not in (1, 2):
        raise ConfigError(f"columns must be one or two different columns, got {columns!r}.")
    ax = axes_for(ax)
    row, best = fitted.typical(at), fitted.best_tree(target)
    label(ax, title=fitted.tree_title(target))
    if len(shown) == 1:
        _draw_line(ax, fitted, best, shown[0], row)
    else:
        _draw_plane(ax, fitted, best, shown[0], shown[1], row)
    column_axis(ax, "x", fitted, shown[0], fitted.rest(row, shown))
    return ax


def _draw_line(ax: Axes, fitted: Fitted, best: Tree, index: int, row: Floats) -> None:
    edges, centres = _cells(fitted, best, index)
    leaves = leaf_of_rows(best.root, fitted, varied(row, {index: centres}))
    for k, edge in enumerate(edges[1:-1]):
        if leaves[k] != leaves[k + 1]:
            ax.axvline(edge, color=INK, linewidth=1.4, zorder=3)
    draw_response(ax, fitted, index)
    ax.set_xlim(edges[0], edges[-1])
    if not fitted.is_classifier and not fitted.is_categorical(index):
        _draw_split_strip(ax, fitted, index)


def _draw_split_strip(ax: Axes, fitted: Fitted, index: int) -> None:
    """How often each stretch of the column is split at, over all draws."""
    column = fitted.columns[index]
    if column.name not in fitted.frequencies.index or isinstance(column, CategoricalColumn):
        return
    points = fitted.model.posterior_.split_points(index)["threshold"]
    counts, edges = np.histogram(points, bins=60, range=(column.low, column.high))
    if counts.any():
        ax.fill_between(  # not stairs, whose foot would count as a response of 0
            edges,
            STRIP * np.append(counts, 0) / counts.max(),
            step="post",
            color=MUTED,
            alpha=0.4,
            linewidth=0,
            zorder=1,
            transform=ax.get_xaxis_transform(),
        )
        ax.margins(y=STRIP)


def _draw_plane(ax: Axes, fitted: Fitted, best: Tree, across: int, up: int, row: Floats) -> None:
    from matplotlib.collections import LineCollection

    x_edges, x = _cells(fitted, best, across)
    y_edges, y = _cells(fitted, best, up)
    xs, ys = (values.ravel() for values in np.meshgrid(x, y))
    leaves = leaf_of_rows(best.root, fitted, varied(row, {across: xs, up: ys})).reshape(len(y), len(x))
    lines = [
        [(x_edges[j + 1], y_edges[i]), (x_edges[j + 1], y_edges[i + 1])]
        for i, j in np.argwhere(leaves[:, 1:] != leaves[:, :-1])
    ]
    lines += [
        [(x_edges[j], y_edges[i + 1]), (x_edges[j + 1], y_edges[i + 1])]
        for i, j in np.argwhere(leaves[1:] != leaves[:-1])
    ]
    ax.add_collection(LineCollection(lines, colors=INK, linewidths=1.6, zorder=3, capstyle="projecting"))
    draw_rows(ax, fitted, across, up)
    column_axis(ax, "y", fitted, up)
    ax.set_xlim(x_edges[0], x_edges[-1])
    ax.set_ylim(y_edges[0], y_edges[-1])


def _cells(fitted: Fitted, best: Tree, index: int) -> tuple[Floats, Floats]:
    """Edges and a point within each of the stretches of a column that no rule divides; a level is one of its own."""
    column = fitted.columns[index]
    if isinstance(column, CategoricalColumn):
        return np.arange(column.size + 1.0) - 0.5, np.arange(float(column.size))
    margin = MARGIN * ((column.high - column.low) or 1.0)
    inner = sorted(set(thresholds(best.root, column.name)))
    edges: Floats = np.array([column.low - margin, *inner, column.high + margin])
    return edges, 0.5 * (edges[1:] + edges[:-1])
