"""Runs chains side by side in chunks, so that progress and Ctrl-C are handled between chunks."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from treedgp.model.problem import Problem
from treedgp.model.spec import SCALAR_MOVES, TREE_MOVES
from treedgp.sampling.chain import Arrays, Chain, Chunk, advance

CHUNK_SECONDS = 0.2


@dataclass
class Run:
    """Chains and what they have given so far; all have made the same number of rounds."""

    chains: list[Chain]
    draws: list[list[list[Arrays]]]  # by chain, a list of chunks, each by layer
    counts: NDArray[np.int64]  # (chain, move, 2), of the rounds after tuning
    failed_factorisations: int = 0  # of the rounds after tuning
    seconds: float = 0.0  # by the clock
    work: float = 0.0  # seconds of the rounds themselves, shared out over the workers

    @classmethod
    def start(cls, problem: Problem, chains: list[Chain]) -> Run:
        """Chains as they stand, with no draws yet; checks that the core takes their states."""
        none_yet = [[advance(problem, chain, chain.round).draws] for chain in chains]
        return cls(chains, none_yet, np.zeros((len(chains), len(TREE_MOVES) + len(SCALAR_MOVES), 2), dtype=np.int64))

    def copy(self) -> Run:
        return replace(self, chains=list(self.chains), draws=[list(c) for c in self.draws], counts=self.counts.copy())

    @property
    def round(self) -> int:
        return self.chains[0].round

    def add(self, chunks: list[Chunk], tuning: bool) -> None:
        for i, chunk in enumerate(chunks):
            self.chains[i] = chunk.chain
            self.draws[i].append(chunk.draws)
            if not tuning:
                self.counts[i] += chunk.counts
                self.failed_factorisations += chunk.failed_factorisations


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Ctrl-C takes effect when the block ends: a chunk is kept whole, and no thread is left inside the core."""
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield
        return
    pending: list[tuple[int, FrameType | None]] = []
    signal.signal(signal.SIGINT, lambda number, frame: pending.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
    if pending:
        previous(*pending[0])


def run_chains(
    problem: Problem,
    run: Run,
    *,
    tune: int,
    rounds: int,
    n_jobs: int | None = None,
    report: Callable[[Run], None] = lambda run: None,
    chunk_seconds: float = CHUNK_SECONDS,
) -> None:
    """Advances every chain of `run` to `rounds` rounds in all.

    The length of a chunk follows the clock, but never what is drawn. After an interrupt `run` holds the chunks
    that all chains finished.
    """
    size = 1
    with Parallel(n_jobs=n_jobs, prefer="threads") as parallel:
        while run.round < rounds:
            tuning = run.round < tune
            end = min(run.round + size, tune if tuning else rounds)
            began = time.perf_counter()
            with interrupts_deferred():
                chunks = parallel(delayed(advance)(problem, chain, end) for chain in run.chains)
                run.add(chunks, tuning)
            run.seconds += time.perf_counter() - began
            workers = min(len(chunks), max(1, effective_n_jobs(n_jobs)))
            run.work += sum(chunk.seconds for chunk in chunks) / workers
            report(run)
            slowest = max(chunk.seconds for chunk in chunks)  # not the time to send tasks about
            size = max(1, min(int(size * chunk_seconds / max(slowest, 1e-9)), 8 * size))
