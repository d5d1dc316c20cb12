"""A chain as a value: arrays and a round number. Advancing it is a pure function of both."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treedgp._core as _core
from treedgp.errors import sampler_errors
from treedgp.model.problem import Problem

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Chain:
    """Where a chain stands: it has made `round` rounds and is in `state`."""

    seed: int
    index: int
    round: int
    state: list[Arrays]  # by layer


@dataclass(frozen=True, eq=False)
class Chunk:
    """What a stretch of rounds gave: kept draws, (attempted, accepted) of each move, failures."""

    chain: Chain
    draws: list[Arrays]  # by layer
    counts: NDArray[np.int64]  # (moves, 2)
    failed_factorisations: int
    seconds: float  # of the rounds themselves


def start_chain(problem: Problem, seed: int, index: int, prior_tree: bool = False) -> Chain:
    """A chain at round 0: leaf parameters from their prior, the root alone or a tree from the prior."""
    with sampler_errors("The chain cannot start"):
        return Chain(seed, index, 0, _core.start(problem.core, seed, index, prior_tree))


def advance(problem: Problem, chain: Chain, end: int) -> Chunk:
    """Rounds up to `end`."""
    began = time.perf_counter()
    with sampler_errors("The chain cannot go on"):
        out = _core.run(problem.core, chain.state, chain.seed, chain.index, chain.round, end)
    return Chunk(
        Chain(chain.seed, chain.index, end, out["state"]),
        out["draws"],
        out["counts"],
        out["failed_factorisations"],
        time.perf_counter() - began,
    )
