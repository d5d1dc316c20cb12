"""Posterior trees, read: the node arrays of all draws, one tree as a value, and its text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from treedgp.model.data import CategoricalColumn, Codes, Column, Floats, NumericColumn

Ints = NDArray[np.int64]
Rule = tuple[int, int]  # (column, cut), (-1, -1) in a leaf
Side = tuple[int, int, bool]  # column, cut, whether left

TEXT_WIDTH = 80
FEWEST_CHARACTERS = 8  # of a column name or a level, however deep


# --- one tree ---


@dataclass(frozen=True)
class Leaf:
    """A region of the partition."""

    size: int  # training rows

    @property
    def height(self) -> int:
        return 1

    @property
    def leaf_sizes(self) -> tuple[int, ...]:
        return (self.size,)


@dataclass(frozen=True)
class Split:
    """A rule: `column <= threshold` (numeric, in the user's units) or `column == level` goes left."""

    column: str
    threshold: float | None
    level: str | None
    label: str  # the threshold or the level, as printed
    left: Leaf | Split
    right: Leaf | Split

    @property
    def size(self) -> int:
        return sum(self.leaf_sizes)

    @property
    def height(self) -> int:
        return 1 + max(self.left.height, self.right.height)

    @property
    def leaf_sizes(self) -> tuple[int, ...]:
        return self.left.leaf_sizes + self.right.leaf_sizes


Node = Leaf | Split


@dataclass(frozen=True, repr=False)
class Tree:
    """A tree of the posterior, in canonical form (see `canonical`). `str()` gives it as indented text."""

    root: Node
    log_posterior: float  # of the draw it comes from
    n_draws: int  # kept draws with this very tree, mirror trees included

    @property
    def height(self) -> int:
        """Nodes on the longest path: 1 for the root alone."""
        return self.root.height

    @property
    def leaf_sizes(self) -> tuple[int, ...]:
        """Training rows in each leaf, left to right."""
        return self.root.leaf_sizes

    @property
    def n_leaves(self) -> int:
        return len(self.leaf_sizes)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        leaves = "1 leaf" if self.n_leaves == 1 else f"{self.n_leaves} leaves"
        head = f"{leaves}, height {self.height}, log posterior {self.log_posterior:.2f}"
        body = [f"all: {_rows(self.root)}"] if isinstance(self.root, Leaf) else list(_lines(self.root, 0))
        return "\n".join([head, *body])


def _lines(split: Split, depth: int) -> Iterator[str]:
    operators = ("<=", ">") if split.level is None else ("==", "!=")
    for operator, child in zip(operators, (split.left, split.right), strict=True):
        tail = ":" if isinstance(child, Split) else f": {_rows(child)}"
        indent = "  " * depth
        room = TEXT_WIDTH - len(indent) - len(operator) - 2 - len(tail)
        column, label = printable(split.column), split.label
        if split.level is not None:
            label = _shorten(printable(label), max(room // 2, room - len(column)))
        yield f"{indent}{_shorten(column, room - len(label))} {operator} {label}{tail}"
        if isinstance(child, Split):
            yield from _lines(child, depth + 1)


def _rows(leaf: Leaf) -> str:
    return f"{leaf.size} row" + ("s" if leaf.size != 1 else "")


def printable(text: str) -> str:
    """Quoted if it would be invisible or break the line."""
    return text if text and text.isprintable() and text == text.strip() else repr(text)


def _shorten(text: str, room: int) -> str:
    room = max(room, FEWEST_CHARACTERS)
    return text if len(text) <= room else text[: room - 1] + "…"


def threshold_text(column: NumericColumn, cut: int) -> str:
    """The threshold of a cut, with as many decimals as keep it strictly between its neighbouring training values."""
    threshold = float(column.thresholds[cut])
    room = _half_gap(column, cut)
    rounded = threshold
    if room > 0:
        decimals = -math.floor(math.log10(room)) - 1
        while abs((rounded := round(threshold, decimals)) - threshold) >= room:
            decimals += 1
    text = repr(rounded + 0.0)  # no -0
    return text.removesuffix(".0")


def _half_gap(column: NumericColumn, cut: int) -> float:
    """How far a cut's threshold is from its neighbouring training values; 0 if that is lost in rounding.

    The midpoints t and the lowest value give back all values v: v[k + 1] = 2 t[k] - v[k]. Errors only add up.
    """
    middles = column.thresholds[: cut + 1] - column.low
    signs = np.where(np.arange(cut + 1) % 2, -1.0, 1.0)
    half_upper = signs[-1] * float(np.cumsum(signs * middles)[-1])  # (v[cut + 1] - low) / 2
    half_lower = float(middles[-1]) - half_upper
    largest = max(abs(column.low), abs(column.low + 2 * half_upper))
    error = 4 * (cut + 1) * float(np.finfo(float).eps) * largest
    gap = half_upper - half_lower
    return gap - error if gap > 2 * error else 0.0


# --- the trees of all draws ---


@dataclass(frozen=True, eq=False)
class Forest:
    """The trees of all draws: preorder lists of nodes (column, cut), -1 in a leaf, one after the other."""

    node_start: Ints  # (draws + 1)
    column: NDArray[np.int32]
    cut: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.node_start) - 1

    @cached_property
    def draw(self) -> Ints:
        """(node): the draw it belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.node_start))

    @cached_property
    def depth(self) -> Ints:
        """(node): 0 for a root."""
        n = len(self.column)
        splits = np.flatnonzero(self.column >= 0)
        # Opening 1 for a split and closing 1 for a leaf, a subtree ends where the balance first falls below its start.
        balance = np.concatenate([[0], np.cumsum(np.where(self.column >= 0, 1, -1))])
        balance -= balance.min() - 1
        places = np.sort(balance * (n + 1) + np.arange(n + 1))
        ends = places[np.searchsorted(places, (balance[splits] - 1) * (n + 1) + splits)] % (n + 1)
        # Each split lifts the nodes below it by 1.
        lifts = np.bincount(splits + 1, minlength=n + 1) - np.bincount(ends, minlength=n + 1)
        return np.cumsum(lifts)[:n]

    @cached_property
    def height(self) -> Ints:
        """(draw): nodes on the longest path, 1 for a root alone."""
        return np.maximum.reduceat(self.depth, self.node_start[:-1]) + 1

    def splits_on(self, n_columns: int) -> NDArray[np.bool_]:
        """(draw, column): whether the draw's tree splits on the column."""
        out = np.zeros((len(self), n_columns), dtype=np.bool_)
        splits = self.column >= 0
        out[self.draw[splits], self.column[splits]] = True
        return out

    def rules(self, draw: int) -> list[Rule]:
        """The preorder list of one draw."""
        nodes = slice(self.node_start[draw], self.node_start[draw + 1])
        return list(zip(self.column[nodes].tolist(), self.cut[nodes].tolist(), strict=True))

    def keys(self) -> list[bytes]:
        """(draw): equal where the trees are equal."""
        nodes = np.column_stack([self.column, self.cut]).astype(np.int32)
        starts = self.node_start.tolist()
        return [nodes[begin:end].tobytes() for begin, end in pairwise(starts)]


def canonical(forest: Forest, columns: Sequence[Column], codes: Codes) -> Forest:
    """Every tree in canonical form, so that mirror trees are equal.

    In a node whose training rows have only two levels a < b of a categorical column, the rules `x == a` and `x == b`
    make the same two regions. The canonical form has `x == a`, with the children swapped where the draw has
    `x == b`. Other rules stay as they are. (The two forms differ only for levels that the node never saw: they go
    right. Predictions use the draws as they are.)
    """
    if not any(isinstance(column, CategoricalColumn) for column in columns):
        return forest
    pair = _two_levels(columns, np.ascontiguousarray(codes.T))
    known: dict[bytes, list[Rule]] = {}
    keys = forest.keys()
    for draw, key in enumerate(keys):
        if key not in known:
            known[key] = _canonical_rules(iter(forest.rules(draw)), pair, ())
    nodes = np.array([rule for key in keys for rule in known[key]], dtype=np.int32)
    return Forest(forest.node_start, nodes[:, 0], nodes[:, 1])


Pair = Callable[[tuple[Side, ...], int], tuple[int, int] | None]


def _canonical_rules(rules: Iterator[Rule], pair: Pair, path: tuple[Side, ...]) -> list[Rule]:
    column, cut = next(rules)
    if column < 0:
        return [(column, cut)]
    left = _canonical_rules(rules, pair, (*path, (column, cut, True)))
    right = _canonical_rules(rules, pair, (*path, (column, cut, False)))
    levels = pair(path, column)
    if levels is not None and cut == levels[1]:
        return [(column, levels[0]), *right, *left]
    return [(column, cut), *left, *right]


def _two_levels(columns: Sequence[Column], codes: Codes) -> Pair:
    """Finds the two levels of a column among the rows at the end of a path; None if there are not two, or no levels."""
    known: dict[tuple[tuple[Side, ...], int], tuple[int, int] | None] = {}

    def pair(path: tuple[Side, ...], column: int) -> tuple[int, int] | None:
        if not isinstance(columns[column], CategoricalColumn):
            return None
        if (path, column) not in known:
            rows = np.ones(codes.shape[1], dtype=np.bool_)
            for ancestor, cut, left in path:
                rows &= goes_left(columns[ancestor], codes[ancestor], cut) == left
            levels = np.flatnonzero(np.bincount(codes[column][rows], minlength=2))
            known[path, column] = (int(levels[0]), int(levels[1])) if len(levels) == 2 else None
        return known[path, column]

    return pair


def goes_left(column: Column, codes: Codes, cut: int) -> NDArray[np.bool_]:
    return codes == cut if isinstance(column, CategoricalColumn) else codes <= cut


def make_tree(
    rules: Sequence[Rule], columns: Sequence[Column], codes: Codes, log_posterior: float, n_draws: int
) -> Tree:
    """A tree as a value, from its preorder list, the split columns and the training codes (row, split column)."""
    nodes = iter(rules)

    def grow(rows: Codes) -> Node:
        index, cut = next(nodes)
        if index < 0:
            return Leaf(len(rows))
        column = columns[index]
        left = goes_left(column, rows[:, index], cut)
        below = grow(rows[left]), grow(rows[~left])
        if isinstance(column, CategoricalColumn):
            level = column.labels[cut]
            return Split(column.name, None, level, level, *below)
        return Split(column.name, float(column.thresholds[cut]), None, threshold_text(column, cut), *below)

    return Tree(grow(codes), log_posterior, n_draws)


def values_of_cuts(column: Column, cuts: NDArray[np.int32]) -> Floats | NDArray[np.object_]:
    """Thresholds of a numeric column, labels of a categorical one."""
    if isinstance(column, NumericColumn):
        return column.thresholds[cuts]
    return np.array(column.labels, dtype=object)[cuts]
