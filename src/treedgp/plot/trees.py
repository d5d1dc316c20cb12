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
from treedgp.plot.style import (
    HATCHES,
    INK,
    MEAN_MAP,
    MUTED,
    PAPER,
    axes_for,
    colour,
    form,
    key,
    label,
    legend,
    shorten,
)
from treedgp.posterior.trees import Leaf, Node, Split, Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

LEAF_WIDTH, LEVEL_HEIGHT, LINE, CHARACTER = 1.0, 0.8, 0.25, 0.09  # inches
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
    leaf_of_row = leaf_of_rows(drawn.root, fitted, fitted.X)
    leaves = [fitted.y[leaf_of_row == i] for i in range(drawn.n_leaves)]
    texts = _leaf_texts(fitted, leaves)
    leaf_width = max(LEAF_WIDTH, *(CHARACTER * len(line) for text in texts for line in text.split("\n")))
    high = LEVEL_HEIGHT * drawn.height + 0.1 + LINE * (bool(title) + fitted.is_classifier)
    ax = axes_for(ax, max(3.0, leaf_width * drawn.n_leaves + 0.4), high)
    ax.set_axis_off()
    label(ax, title=title)
    places = _Places.of(drawn.root)
    _draw_splits(ax, drawn.root, places)
    depths = [places.depth[id(leaf)] for leaf in places.leaves]
    if fitted.is_classifier:
        _draw_class_bars(ax, leaves, texts, depths, len(fitted.classes))
        _draw_legend(ax, fitted.classes)
    else:
        _draw_means(ax, leaves, texts, depths)
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


def _leaf_texts(fitted: Fitted, leaves: list[Floats]) -> list[str]:
    sizes = [f"n = {len(rows)}" for rows in leaves]
    if fitted.is_classifier:
        return sizes
    width = float(np.ptp(fitted.y))
    return [f"mean {_rounded(float(rows.mean()), width)}\n{size}" for rows, size in zip(leaves, sizes, strict=True)]


def _draw_means(ax: Axes, leaves: list[Floats], texts: list[str], depths: list[int]) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import Normalize

    means = [float(rows.mean()) for rows in leaves]
    shade = Normalize(min(means), max(means) if max(means) > min(means) else min(means) + 1)
    for i, (mean, text, depth) in enumerate(zip(means, texts, depths, strict=True)):
        fill = colormaps[MEAN_MAP](0.15 + 0.8 * float(shade(mean)))
        light = float(np.dot(fill[:3], (0.299, 0.587, 0.114))) > 0.5
        box = {"boxstyle": "round,pad=0.35", "facecolor": fill, "edgecolor": "none"}
        ink = "#000000" if light else "#ffffff"
        ax.text(i, -depth, text, ha="center", va="center", fontsize=9, color=ink, bbox=box, zorder=3)


def _rounded(value: float, width: float) -> str:
    """To about a hundredth of the width of all responses."""
    decimals = 2 - math.floor(math.log10(width)) if width > 0 else -9
    if -3 <= decimals <= 5:
        return f"{round(value, max(0, decimals)) + 0.0:.{max(0, decimals)}f}"
    digits = math.floor(math.log10(abs(value))) + decimals + 1 if value else 3
    return f"{value:.{max(3, digits)}g}"


def _class_box(at: tuple[float, float], width: float, height: float, c: int, text: str = "") -> Rectangle:
    from matplotlib.patches import Rectangle

    look: dict[str, Any] = {"facecolor": colour(c), "edgecolor": PAPER, "hatch": form(c, HATCHES), "linewidth": 0}
    return Rectangle(at, width, height, zorder=2, label=text, **look)


def _draw_class_bars(ax: Axes, leaves: list[Floats], texts: list[str], depths: list[int], classes: int) -> None:
    for i, (rows, text, depth) in enumerate(zip(leaves, texts, depths, strict=True)):
        shares = np.bincount(rows.astype(int), minlength=classes) / len(rows)
        begin = i - BAR / 2
        for c, share in enumerate(shares):
            ax.add_patch(_class_box((begin, -depth - 0.1), BAR * share, 0.2, c))
            begin += BAR * share
        ax.text(i, -depth - 0.15, text, ha="center", va="top", fontsize=9, color=INK)


def _draw_legend(ax: Axes, classes: list[str]) -> None:
    keys = [_class_box((0, 0), 1, 1, c, key(name)) for c, name in enumerate(classes)]
    legend(ax, above=len(keys), handles=keys, handlelength=1)
