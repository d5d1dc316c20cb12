"""Which leaf of a tree a row falls in."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from treedgp.model.data import CategoricalColumn, Floats
from treedgp.plot.fitted import Fitted
from treedgp.posterior.trees import Leaf, Node, Split


def leaf_of_rows(root: Node, fitted: Fitted, X: Floats) -> NDArray[np.int64]:
    """(row): the leaf, counted from the left."""
    out = np.empty(len(X), dtype=np.int64)
    next_leaf = iter(range(len(root.leaf_sizes)))

    def place(node: Node, rows: NDArray[np.int64]) -> None:
        if isinstance(node, Leaf):
            out[rows] = next(next_leaf)
            return
        left = _goes_left(node, fitted, X[rows])
        place(node.left, rows[left])
        place(node.right, rows[~left])

    place(root, np.arange(len(X)))
    return out


def _goes_left(split: Split, fitted: Fitted, X: Floats) -> NDArray[np.bool_]:
    index = fitted.names.index(split.column)
    column = fitted.columns[index]
    if isinstance(column, CategoricalColumn):
        assert split.level is not None
        return np.asarray(X[:, index] == column.labels.index(split.level))
    assert split.threshold is not None
    return np.asarray(X[:, index] <= split.threshold)


def thresholds(node: Node, column: str) -> Iterator[float]:
    """Of a numeric column, wherever it splits."""
    if isinstance(node, Split):
        if node.column == column and node.threshold is not None:
            yield node.threshold
        yield from thresholds(node.left, column)
        yield from thresholds(node.right, column)
