"""Are arrays from a file the draws of a model?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treedgp.errors import FormatError
from treedgp.model.spec import STEPS
from treedgp.posterior.draws import BY_LEAF, BY_NODE

ARRAYS = ("node_start", *BY_NODE, *BY_LEAF, "beta0", "w_inv", "hyper", "log_posterior")
DEPTH_LIMIT = 60  # of a tree, as in the core


def check_draws(
    arrays: Mapping[str, NDArray[Any]],
    n_range: int,
    m: int,
    sizes: Sequence[int],
    n_draws: int,
    categorical: Sequence[bool] | None = None,
    n_latents: int | None = None,
) -> None:
    """FormatError unless `arrays` hold draws of a model with `n_range` ranges and `m` coefficients a leaf.

    `sizes` are those of the split columns: distinct values or levels. A numeric column has a cut less than values;
    without `categorical` that is not checked. `n_latents` is the number of rows where each has a latent.
    """
    known = [*ARRAYS, "latent"] if n_latents is not None else ARRAYS
    extra = sorted(set(arrays) - set(known))
    _require(not extra, f"draws: expected only {', '.join(known)}, got also {', '.join(map(repr, extra[:5]))}")
    start = _shaped(arrays, "node_start", np.int64, (n_draws + 1,))
    nodes = len(_shaped(arrays, "column", np.int32, (None,)))
    rising = start[0] == 0 and start[-1] == nodes and (start[1:] > start[:-1]).all()
    _require(
        bool(rising) and bool((np.diff(start) % 2 == 1).all()),
        f"draws: node_start must rise from 0 to the {nodes} nodes by odd numbers, a tree's count of nodes",
    )
    leaves = (nodes + n_draws) // 2
    positive = {"range": (leaves, n_range), "sigma2": (leaves,), "tau2": (leaves,), "hyper": (n_draws, 4)}
    finite = {"beta": (leaves, m), "beta0": (n_draws, m), "log_posterior": (n_draws,)}
    for name, shape in positive.items():
        _require_all(name, _numbers(arrays, name, shape) > 0, "be positive")
    if n_latents is not None:
        finite["latent"] = (n_draws, n_latents)
    for name, shape in finite.items():
        _numbers(arrays, name, shape)
    _require_all("nugget", _numbers(arrays, "nugget", (leaves,)) >= 0, "not be negative")
    _require_all("gp", _shaped(arrays, "gp", np.uint8, (leaves, n_range)) <= 1, "be 0 or 1")
    diagonal = np.cumsum([0, *range(m, 1, -1)])  # the lower triangle by column
    _require_all(
        "w_inv", _numbers(arrays, "w_inv", (n_draws, m * (m + 1) // 2))[:, diagonal] > 0, "have a positive diagonal"
    )

    column, cut = arrays["column"], _shaped(arrays, "cut", np.int32, (nodes,))
    _check_rules(column, cut, sizes, categorical)
    _check_preorder(start, column >= 0)


def check_state(
    arrays: Mapping[str, NDArray[Any]],
    n_range: int,
    m: int,
    sizes: Sequence[int],
    categorical: Sequence[bool] | None = None,
    n_latents: int | None = None,
) -> None:
    """The same for where a chain stands: one draw, and what it has learned."""
    _numbers(arrays, "log_step", (len(STEPS),))
    learned = ["log_step"]
    if n_latents is not None:
        _require_all("site", _numbers(arrays, "site", (n_latents, 2))[:, 0] > 0, "have positive precisions")
        learned.append("site")
    draw = {name: values for name, values in arrays.items() if name not in learned}
    check_draws(draw, n_range, m, sizes, 1, categorical, n_latents)


def check_layers(layers: Sequence[Mapping[str, NDArray[Any]]], shares_tree: bool) -> None:
    """FormatError if layers, each passed by `check_draws`, cannot be of the same draws."""
    same = ("log_posterior", "node_start", "column", "cut") if shares_tree else ("log_posterior",)
    for name in same:
        equal = all(np.array_equal(layer[name], layers[0][name]) for layer in layers)
        _require(equal, f"draws: {name!r} must be the same for all classes")


def _shaped(arrays: Mapping[str, NDArray[Any]], name: str, dtype: type, shape: tuple[int | None, ...]) -> NDArray[Any]:
    _require(name in arrays, f"draws: the array {name!r} is missing")
    values = arrays[name]
    same = values.ndim == len(shape) and all(wanted in (None, n) for wanted, n in zip(shape, values.shape, strict=True))
    _require(
        same and values.dtype == dtype,
        f"draws: {name!r} must be {np.dtype(dtype)} of shape {shape}, got {values.dtype} of shape {values.shape}",
    )
    return values


def _numbers(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    values = _shaped(arrays, name, np.float64, shape)
    _require_all(name, np.isfinite(values), "be finite")
    return values


def _require_all(name: str, holds: NDArray[np.bool_], wanted: str) -> None:
    _require(bool(holds.all()), f"draws: {name!r} must {wanted}, but {np.count_nonzero(~holds)} value(s) are not so")


def _check_rules(
    column: NDArray[np.int32], cut: NDArray[np.int32], sizes: Sequence[int], categorical: Sequence[bool] | None
) -> None:
    internal = column >= 0
    exists = (column >= -1) & (column < len(sizes))
    _require_all("column", exists, f"lie in -1 .. {len(sizes) - 1}, where -1 is a leaf")
    _require_all("cut", internal | (cut == -1), "be -1 in a leaf")
    cuts = np.asarray(sizes, dtype=np.int64)
    if categorical is not None:
        cuts = cuts - ~np.asarray(categorical, dtype=bool)
    inside = (cut[internal] >= 0) & (cut[internal] < cuts[column[internal]])
    _require_all("cut", inside, "be one of its column's cuts")


def _check_preorder(start: NDArray[np.int64], internal: NDArray[np.bool_]) -> None:
    """A list of nodes is a tree if a node is awaited until the last one, and none after it."""
    awaited = np.cumsum(np.where(internal, 1, -1))
    before = np.concatenate([[0], awaited])[start[:-1]]
    awaited += 1 - np.repeat(before, np.diff(start))
    last = np.zeros(len(internal), dtype=bool)
    last[start[1:] - 1] = True
    _require(bool(((awaited == 0) == last).all()), "draws: a tree's nodes are not a preorder list")
    for i in np.flatnonzero(np.diff(start) > 2 * DEPTH_LIMIT + 1):
        _check_depth(internal[start[i] : start[i + 1]].tolist())


def _check_depth(internal: list[bool]) -> None:
    pending = [0]
    for divides in internal:
        depth = pending.pop()
        _require(depth <= DEPTH_LIMIT, f"draws: a tree is deeper than {DEPTH_LIMIT}")
        if divides:
            pending += [depth + 1, depth + 1]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise FormatError(message)
