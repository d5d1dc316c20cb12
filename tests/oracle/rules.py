"""Splitting rules, the tree prior, and all trees of tiny data.

A tree is None (leaf) or (column, k, left, right); a node is named by its path from the root, 0 left, 1 right.
Numeric column: code <= k goes left. Categorical column: code == k goes left.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import exp, inf, log, log1p

import numpy as np


@dataclass(frozen=True, eq=False)
class SplitData:
    """What the tree prior and its moves depend on. F is the leaf design under the flat coefficient prior, else None."""

    codes: np.ndarray  # (n, S)
    kinds: tuple[str, ...]
    sizes: tuple[int, ...]
    min_leaf: int = 1
    alpha: float = 0.5
    beta: float = 2.0
    max_depth: float = inf
    F: np.ndarray | None = None  # (n, m)
    neighbours: tuple[tuple[int, int, bool], ...] = ()  # rows close to each other, and whether their labels differ


def dense_ranks(values):
    """Rank of each value among the distinct values, 0..U-1."""
    return np.unique(values, return_inverse=True)[1]


def all_rows(split):
    return tuple(range(len(split.codes)))


def is_valid(split, rows):
    """n >= min_leaf and, under the flat prior, rank(F) = m."""
    if len(rows) < split.min_leaf:
        return False
    return split.F is None or np.linalg.matrix_rank(split.F[list(rows)]) == split.F.shape[1]


@cache
def children(split, rows, column, k):
    """Rows of the left and of the right child."""
    numeric = split.kinds[column] == "numeric"
    goes_left = [split.codes[i, column] <= k if numeric else split.codes[i, column] == k for i in rows]
    left = tuple(i for i, is_left in zip(rows, goes_left, strict=True) if is_left)
    right = tuple(i for i, is_left in zip(rows, goes_left, strict=True) if not is_left)
    return left, right


@cache
def partitions(split, rows, column):
    """Admissible partitions of the node in one column, ascending, each the tuple of all k that give it."""
    present = np.unique(split.codes[list(rows), column]).tolist()
    if split.kinds[column] == "numeric":
        groups = [tuple(range(low, high)) for low, high in pairwise(present)]
    else:
        groups = [(level,) for level in present]

    def is_admissible(ks):
        return all(is_valid(split, child) for child in children(split, rows, column, ks[0]))

    return [ks for ks in groups if is_admissible(ks)]


@cache
def rule_prior(split, rows):
    """{(column, k): p(rule | rows)}: column uniform, then partition uniform, then k uniform within it."""
    by_column = {c: partitions(split, rows, c) for c in range(len(split.kinds))}
    by_column = {c: groups for c, groups in by_column.items() if groups}
    return {
        (c, k): 1 / len(by_column) / len(groups) / len(ks)
        for c, groups in by_column.items()
        for ks in groups
        for k in ks
    }


def nearest(x, labels, count=4):
    """Every row with those nearest to it; of equally near ones the first."""
    distance = ((x[:, None] - x) ** 2).sum(axis=-1)
    np.fill_diagonal(distance, inf)
    order = np.argsort(distance, axis=1, kind="stable")[:, : min(count, len(x) - 1)]
    return tuple((i, int(j), bool(labels[i] != labels[j])) for i, near in enumerate(order) for j in near)


@cache
def rule_proposal(split, rows):
    """{(column, k): q(rule | rows)} of a move: the prior, or half the prior and half by how labels differ across it."""
    prior = rule_prior(split, rows)
    if not split.neighbours or not prior:
        return prior
    pairs = [pair for pair in split.neighbours if pair[0] in rows and pair[1] in rows]
    share = (sum(differ for _, _, differ in pairs) + 0.5) / (len(pairs) + 1)
    partition = {(c, k): (c, ks) for c in range(len(split.kinds)) for ks in partitions(split, rows, c) for k in ks}
    score = {}
    for c, ks in set(partition.values()):
        left = set(children(split, rows, c, ks[0])[0])
        parted = [differ for i, j, differ in pairs if (i in left) != (j in left)]
        found = sum(parted) / len(parted) if parted else 0.0
        score[c, ks] = exp(len(parted) * relative_entropy(found, share) / 4) if found > share else 1.0
    total = sum(score.values())
    return {rule: 0.5 * p + 0.5 * score[partition[rule]] / total / len(partition[rule][1]) for rule, p in prior.items()}


def relative_entropy(p, q):
    """Of a coin of p to one of q."""
    return sum(a * log(a / b) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0)


def p_split(split, rows, depth):
    """alpha (1 + D)^-beta where an admissible rule exists and D < max_depth, else 0."""
    can_split = depth < split.max_depth and rule_prior(split, rows)
    return split.alpha * (1 + depth) ** -split.beta if can_split else 0.0


def log_split(split, rows, depth):
    p = p_split(split, rows, depth)
    return log(p) if p > 0 else -inf


def log_stop(split, rows, depth):
    p = p_split(split, rows, depth)
    return log1p(-p) if p < 1 else -inf


def log_rule(split, rows, rule):
    p = rule_prior(split, rows).get(rule, 0.0)
    return log(p) if p > 0 else -inf


def walk(split, tree, rows=None, depth=0, path=()) -> Iterator[tuple]:
    """(path, node, rows, depth) of every node: parents first, left before right."""
    rows = all_rows(split) if rows is None else rows
    yield path, tree, rows, depth
    if tree is not None:
        column, k, left, right = tree
        left_rows, right_rows = children(split, rows, column, k)
        yield from walk(split, left, left_rows, depth + 1, (*path, 0))
        yield from walk(split, right, right_rows, depth + 1, (*path, 1))


def leaf_rows(split, tree):
    """Rows of each leaf, left to right."""
    return [rows for _, node, rows, _ in walk(split, tree) if node is None]


def log_structure(split, tree):
    """Sum of log p_split over internal nodes and log(1 - p_split) over leaves."""
    return sum(
        log_stop(split, rows, depth) if node is None else log_split(split, rows, depth)
        for _, node, rows, depth in walk(split, tree)
    )


def log_rules(split, tree):
    """Sum of the log rule prior over internal nodes."""
    return sum(log_rule(split, rows, node[:2]) for _, node, rows, _ in walk(split, tree) if node is not None)


def log_p_tree(split, tree):
    return log_structure(split, tree) + log_rules(split, tree)


def all_trees(split, rows=None, depth=0):
    """Every tree of positive prior probability (up to stopping)."""
    rows = all_rows(split) if rows is None else rows
    trees = [None]
    if p_split(split, rows, depth) > 0:
        for column, k in rule_prior(split, rows):
            left_rows, right_rows = children(split, rows, column, k)
            lefts = all_trees(split, left_rows, depth + 1)
            rights = all_trees(split, right_rows, depth + 1)
            trees += [(column, k, left, right) for left in lefts for right in rights]
    return trees


def draw_tree(split, rng, rows=None, depth=0):
    """A tree drawn from the prior, top down."""
    rows = all_rows(split) if rows is None else rows
    if rng.random() >= p_split(split, rows, depth):
        return None
    rules = rule_prior(split, rows)
    column, k = list(rules)[rng.choice(len(rules), p=list(rules.values()))]
    left_rows, right_rows = children(split, rows, column, k)
    return (
        column,
        k,
        draw_tree(split, rng, left_rows, depth + 1),
        draw_tree(split, rng, right_rows, depth + 1),
    )
