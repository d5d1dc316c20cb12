"""The drawing of a tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from treedgp.errors import ConfigError
from treedgp.model.data import Floats
from treedgp.plot.fitted import Fitted
from treedgp.plot.regions import leaf_of_rows
from treedgp.plot.style import HATCHES, INK, MEAN_MAP, MUTED, PAPER, axes_for, colour, form, label, legend, shorten
from treedgp.posterior.trees import Leaf, Node, Split, Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

LEAF_WIDTH, LEVEL_HEIGHT, LEGEND_ROW = 1.0, 0.8, 0.25  # inches
BAR = 0.8  # width of a class bar; leaves are 1 apart


def tree(model: Any, ax: Axes | None = None, *, height: int | None = None, target: Any = None) -> Axes:
    """Draw the most probable tree, as `map_trees` finds it: rules in the user's units, and what is in each leaf.

    A row that obeys a rule goes left. A leaf shows its number of training rows and the mean of their responses, or a
    bar with the share of each class.

    Parameters
    ----------
    model
        A fitted estimator.
    ax
        Where to draw; None: a new figure.
    height
        The best tree of this height (nodes on the longest path) instead of the best of all.
    target
        The class whose tree is drawn, where each has its own; None: the first.
    """
    fitted = Fitted.of(model)
    drawn = _chosen(fitted, height, target)
    title = fitted.tree_title(target)
    width, high = max(3.0, LEAF_WIDTH * drawn.n_leaves + 0.4), LEVEL_HEIGHT * drawn.height + 0.1 + 0.25 * bool(title)
    own_figure = ax is None
    ax = axes_for(ax, width, high)
    ax.set_axis_off()
    label(ax, title=title)
    places = _Places.of(drawn.root)
    _draw_splits(ax, drawn.root, places)
    leaf_of_row = leaf_of_rows(drawn.root, fitted, fitted.X)
    leaves = [fitted.y[leaf_of_row == i] for i in range(drawn.n_leaves)]
    depths = [places.depth[id(leaf)] for leaf in places.leaves]
    if fitted.is_classifier:
        _draw_class_bars(ax, leaves, depths, fitted.classes)
        rows = _draw_legend(ax, fitted.classes)
        if own_figure:
            ax.figure.set_figheight(high + LEGEND_ROW * rows)  # type: ignore[union-attr]
    else:
        _draw_means(ax, leaves, depths)
    ax.set_xlim(-0.55, drawn.n_leaves - 0.45)
    ax.set_ylim(-drawn.height + 0.45, 0.4)
    return ax


def _chosen(fitted: Fitted, height: int | None, target: Any) -> Tree:
    if height is None:
        return fitted.best_tree(target)
    trees = fitted.map_trees(target)
    if height not in trees:
        raise ConfigError(f"height must be one that was drawn ({', '.join(map(str, trees))}), got {height!r}.")
    return trees[height]


@dataclass(frozen=True)
class _Places:
    """Where nodes stand: leaves one apart, a split over the middle of its children."""

    x: dict[int, float]  # by id of the node
    depth: dict[int, int]
    leaves: list[Leaf]

    @classmethod
    def of(cls, root: Node) -> _Places:
        places = cls({}, {}, [])
        places._put(root, 0)
        return places

    def _put(self, node: Node, depth: int) -> float:
        if isinstance(node, Split):
            x = 0.5 * (self._put(node.left, depth + 1) + self._put(node.right, depth + 1))
        else:
            x = float(len(self.leaves))
            self.leaves.append(node)
        self.x[id(node)], self.depth[id(node)] = x, depth
        return x


def _draw_splits(ax: Axes, node: Node, places: _Places) -> None:
    if isinstance(node, Leaf):
        return
    x, y = places.x[id(node)], -places.depth[id(node)]
    for child, answer in ((node.left, "yes"), (node.right, "no")):
        child_x = places.x[id(child)]
        ax.plot([x, child_x], [y, y - 1], color=MUTED, linewidth=1.2, zorder=1, solid_capstyle="round")
        if y == 0:  # the reading direction is said once
            side = "right" if child is node.left else "left"
            ax.text(0.5 * (x + child_x), y - 0.47, f" {answer} ", color=MUTED, fontsize=8, ha=side, va="bottom")
        _draw_splits(ax, child, places)
    operator = "≤" if node.level is None else "="
    rule = f"{shorten(node.column, 16)}\n{operator} {shorten(node.label, 14)}"
    box = {"boxstyle": "round,pad=0.35", "facecolor": PAPER, "edgecolor": MUTED}
    ax.text(x, y, rule, ha="center", va="center", fontsize=9, color=INK, bbox=box, zorder=3, parse_math=False)


def _draw_means(ax: Axes, leaves: list[Floats], depths: list[int]) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    means = [float(rows.mean()) for rows in leaves]
    width = float(np.ptp(np.concatenate(leaves)))
    shade = Normalize(min(means), max(means) if max(means) > min(means) else min(means) + 1)
    for i, (mean, rows, depth) in enumerate(zip(means, leaves, depths, strict=True)):
        fill = colormaps[MEAN_MAP](0.15 + 0.8 * float(shade(mean)))
        light = float(np.dot(fill[:3], (0.299, 0.587, 0.114))) > 0.5
        box = {"boxstyle": "round,pad=0.35", "facecolor": fill, "edgecolor": "none"}
        text = f"mean {_rounded(mean, width)}\nn = {len(rows)}"
        ink = "#000000" if light else "#ffffff"
        ax.text(i, -depth, text, ha="center", va="center", fontsize=9, color=ink, bbox=box, zorder=3)


def _rounded(value: float, width: float) -> str:
    """To about a hundredth of the width of all responses."""
    decimals = 2 - math.floor(math.log10(width)) if width > 0 else -9
    return f"{round(value, max(0, decimals)) + 0.0:.{max(0, decimals)}f}" if -3 <= decimals <= 5 else f"{value:.3g}"


def _class_box(at: tuple[float, float], width: float, height: float, c: int, text: str = "") -> Rectangle:
    from matplotlib.patches import Rectangle

    look: dict[str, Any] = {"facecolor": colour(c), "edgecolor": PAPER, "hatch": form(c, HATCHES), "linewidth": 0}
    return Rectangle(at, width, height, zorder=2, label=text, **look)


def _draw_class_bars(ax: Axes, leaves: list[Floats], depths: list[int], classes: list[str]) -> None:
    for i, (rows, depth) in enumerate(zip(leaves, depths, strict=True)):
        shares = np.bincount(rows.astype(int), minlength=len(classes)) / len(rows)
        begin = i - BAR / 2
        for c, share in enumerate(shares):
            ax.add_patch(_class_box((begin, -depth - 0.1), BAR * share, 0.2, c))
            begin += BAR * share
        ax.text(i, -depth - 0.15, f"n = {len(rows)}", ha="center", va="top", fontsize=9, color=INK)


def _draw_legend(ax: Axes, classes: list[str]) -> int:
    """The number of its rows."""
    keys = [_class_box((0, 0), 1, 1, c, shorten(name)) for c, name in enumerate(classes)]
    return legend(ax, above=len(keys), handles=keys, handlelength=1)
