"""A progress bar for long fits."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treedgp.errors import frames_to_the_user
from treedgp.sampling.run import Run

DELAY_SECONDS = 2.0
SLOW_SECONDS = 600.0


def is_wanted(progressbar: bool | str) -> bool:
    """ "auto": a terminal or a notebook, and not a worker thread or process of somebody else's loop."""
    if progressbar != "auto":
        return bool(progressbar)
    in_notebook = "ipykernel" in sys.modules
    is_main_thread = threading.current_thread() is threading.main_thread()
    is_main = is_main_thread and multiprocessing.current_process().name == "MainProcess"
    return is_main and (sys.stderr.isatty() or in_notebook)


def warn_if_slow(seconds_a_round: float, rounds: int) -> None:
    """Says so if these rounds will take long."""
    seconds = seconds_a_round * rounds
    if seconds > SLOW_SECONDS:
        warnings.warn(
            f"This fit will take about {seconds / 60:.0f} minutes: {rounds} rounds of {seconds_a_round:.2g} s. "
            "A region of n rows costs n^3. Fewer rows or rounds, or more n_jobs, make it shorter.",
            UserWarning,
            stacklevel=frames_to_the_user(),
        )


class Progress:
    """Shows leaves, log posterior, its R-hat and the time left once a fit has taken `DELAY_SECONDS`, if wanted.

    `rhat` is handed in, since diagnostics belong to the posterior, which knows nothing of sampling nor the reverse.
    """

    def __init__(
        self,
        wanted: bool,
        run: Run,
        rounds: int,
        tune: int,
        rhat: Callable[[NDArray[np.float64]], float] | None = None,
    ) -> None:
        self._wanted, self._rounds, self._tune, self._rhat = wanted, rounds, tune, rhat
        self._done, self._work = run.round, run.work  # by whom it was begun
        self._bar: Any = None
        self._began = time.perf_counter()
        self._is_first = True

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def report(self, run: Run) -> None:
        if self._is_first:
            self._is_first = False
            warn_if_slow((run.work - self._work) / (run.round - self._done), self._rounds - self._done)
        if not self._wanted or (self._bar is None and time.perf_counter() - self._began < DELAY_SECONDS):
            return
        if self._bar is None:
            self._start()
        self._bar.update(self._task, completed=run.round, description=self.health(run))

    def health(self, run: Run) -> str:
        """How the chains are doing, in half a line."""
        leaves = np.mean([(len(layer["column"]) + 1) // 2 for chain in run.chains for layer in chain.state])
        log_posterior = np.mean([chain.state[0]["log_posterior"][0] for chain in run.chains])
        text = f"{leaves:.1f} leaves, log posterior {log_posterior:.1f}"
        if run.round < self._tune:
            return f"tuning: {text}"
        if self._rhat is not None:
            traces = [np.concatenate([layers[0]["log_posterior"] for layers in chunks]) for chunks in run.draws]
            rhat = self._rhat(np.array(traces))
            text += f", R-hat {rhat:.2f}" if np.isfinite(rhat) else ""
        return f"drawing: {text}"

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        # A narrow bar: with the words before it, it all fits into 80 columns.
        columns = (TextColumn("{task.description}"), BarColumn(10), TaskProgressColumn(), TimeRemainingColumn())
        self._bar = RichProgress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task("tuning", total=self._rounds, completed=self._done)
