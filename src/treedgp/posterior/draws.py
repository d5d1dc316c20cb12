"""Kept draws of all chains, as flat arrays: of the response in regression, of each class's latent in classification."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]

BY_NODE = ("column", "cut")
LEARNED = ("log_step", "site")  # by a chain in tuning: in its state, not in its draws
BY_LEAF = ("range", "gp", "nugget", "sigma2", "tau2", "beta")


def concatenate(chunks: list[Arrays]) -> Arrays:
    """Consecutive stretches of draws as one."""
    names = [name for name in chunks[0] if name not in ("node_start", *LEARNED)]
    out = {name: np.concatenate([c[name] for c in chunks]) for name in names}
    sizes = np.concatenate([np.diff(c["node_start"]) for c in chunks])
    out["node_start"] = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return out


@dataclass(frozen=True, eq=False)
class Draws:
    """`arrays` holds the draws of chain 0, then of chain 1, ...; every chain has `n_draws`.

    A draw's tree is a preorder list of nodes (column, cut), -1 in a leaf; its leaves are in left-to-right order.
    """

    arrays: Arrays
    n_chains: int

    @classmethod
    def join(cls, chains: list[list[list[Arrays]]]) -> tuple[Draws, ...]:
        """Those of each layer, from the chunks of each chain."""
        layers = zip(*(chunk for chunks in chains for chunk in chunks), strict=True)
        return tuple(cls(concatenate(list(chunks)), len(chains)) for chunks in layers)

    def chain(self, i: int) -> Arrays:
        """The draws of one chain, as arrays of their own."""
        starts = self.arrays["node_start"]
        first, last = i * self.n_draws, (i + 1) * self.n_draws
        begin, end = int(starts[first]), int(starts[last])
        slices = {BY_NODE: slice(begin, end), BY_LEAF: slice((begin + first) // 2, (end + last) // 2)}
        out = {
            name: values[next((s for names, s in slices.items() if name in names), slice(first, last))]
            for name, values in self.arrays.items()
            if name != "node_start"
        }
        return {**out, "node_start": starts[first : last + 1] - begin}

    def __len__(self) -> int:
        return len(self.arrays["log_posterior"])

    @property
    def n_draws(self) -> int:
        return len(self) // self.n_chains

    def by_chain(self, values: NDArray[Any]) -> NDArray[Any]:
        """(draws of all chains, ...) as (chain, draw, ...)."""
        return values.reshape(self.n_chains, self.n_draws, *values.shape[1:])

    @property
    def n_leaves(self) -> NDArray[np.int64]:
        return self.by_chain((np.diff(self.arrays["node_start"]) + 1) // 2)

    @property
    def log_posterior(self) -> NDArray[np.float64]:
        return self.by_chain(self.arrays["log_posterior"])

    def take(self, indices: NDArray[np.int64]) -> Draws:
        """Some of the draws, as one chain."""
        starts, sizes = self.arrays["node_start"][indices], np.diff(self.arrays["node_start"])[indices]
        leaves = (sizes + 1) // 2
        picked = {BY_NODE: _ranges(starts, sizes), BY_LEAF: _ranges((starts + indices) // 2, leaves)}
        out = {
            name: values[next((p for names, p in picked.items() if name in names), indices)]
            for name, values in self.arrays.items()
            if name != "node_start"
        }
        return Draws({**out, "node_start": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)}, 1)

    def thinned(self, n: int | None) -> NDArray[np.int64]:
        """Indices of n draws, evenly spread over all chains; all if n is None."""
        total = len(self)
        if n is None or n >= total:
            return np.arange(total)
        return np.linspace(0, total, n, endpoint=False).astype(np.int64)


def _ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """start, ..., start + size - 1 of each, one after the other."""
    offsets = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(np.repeat(starts, sizes) + offsets)
