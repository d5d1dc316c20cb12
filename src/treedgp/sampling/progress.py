"""A progress bar for long fits."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
import warnings
from types import TracebackType
from typing import Any

import numpy as np

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


def warn_if_slow(run: Run, rounds: int) -> None:
    """After the first chunk: says so if the whole run will take long."""
    seconds = run.work / run.round * rounds
    if seconds > SLOW_SECONDS:
        warnings.warn(
            f"This fit will take about {seconds / 60:.0f} minutes: {rounds} rounds of {run.work / run.round:.2g} s. "
            "A region of n rows costs n^3. Fewer rows or rounds, or more n_jobs, make it shorter.",
            UserWarning,
            stacklevel=2,
        )


class Progress:
    """Shows rounds, leaves and log posterior once a fit has taken `DELAY_SECONDS`; silent if not wanted."""

    def __init__(self, wanted: bool, rounds: int, tune: int) -> None:
        self._wanted, self._rounds, self._tune = wanted, rounds, tune
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
            warn_if_slow(run, self._rounds)
        if not self._wanted or (self._bar is None and time.perf_counter() - self._began < DELAY_SECONDS):
            return
        if self._bar is None:
            self._start()
        phase = "tuning" if run.round < self._tune else "drawing"
        leaves = np.mean([(len(chain.state["column"]) + 1) // 2 for chain in run.chains])
        log_posterior = np.mean([chain.state["log_posterior"][0] for chain in run.chains])
        self._bar.update(
            self._task,
            completed=run.round,
            description=f"{phase}: {leaves:.1f} leaves, log posterior {log_posterior:.1f}",
        )

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = RichProgress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task("tuning", total=self._rounds)
