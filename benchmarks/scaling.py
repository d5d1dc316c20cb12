"""The time of a round against a size: a table with slopes, and all of a page's sizes in one log-log figure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator
from report import RESULTS, table
from tasks import rounds_per_second

from treedgp.experiments.figures import new_figure
from treedgp.model.problem import Problem
from treedgp.plot import style
from treedgp.sampling.chain import start_chain

REPEATS = 3
CHAINS = (1, 2, 3)  # seeds, where there are trees: they differ between chains, and with them the time
LAST = 3  # sizes that a slope is fitted to: small ones are not yet on the line


def microseconds(problem: Problem, rounds: int, seeds: Sequence[int] = (1,)) -> float:
    """Of CPU a round after tuning, the median of a chain a seed."""
    return float(np.median([_of_chain(problem, rounds, seed) for seed in seeds]))


def _of_chain(problem: Problem, rounds: int, seed: int) -> float:
    """The best of a few repetitions, since other work on the machine only slows down."""
    _, chain = rounds_per_second(problem, start_chain(problem, seed, 0), problem.spec.schedule.tune)
    return 1e6 * min(rounds_per_second(problem, chain, rounds)[0] for _ in range(REPEATS))


@dataclass(frozen=True)
class Growth:
    """Microseconds a round at each size."""

    title: str
    axis: str  # what the sizes are
    sizes: Sequence[int]
    times: Sequence[float]

    @classmethod
    def measure(cls, title: str, axis: str, sizes: Sequence[int], time_of: Callable[[int], float]) -> Growth:
        return cls(title, axis, sizes, [time_of(size) for size in sizes])

    def fit(self) -> tuple[float, float]:
        """Slope and intercept of the logs of the last sizes, by least squares."""
        slope, intercept = np.polyfit(np.log(self.sizes[-LAST:]), np.log(self.times[-LAST:]), 1)
        return float(slope), float(intercept)

    def section(self) -> list[str]:
        steps = np.diff(np.log(self.times)) / np.diff(np.log(self.sizes))
        columns = {
            self.axis: self.sizes,
            "us a round": [f"{time:.0f}" for time in self.times],
            "slope": ["", *(f"{step:.2f}" for step in steps)],
        }
        fitted = f"Slope fitted to the last {LAST} by least squares: {self.fit()[0]:.2f}."
        return [f"## {self.title}", table(pd.DataFrame(columns)), fitted]


def sections_and_figure(name: str, growths: Iterable[Growth]) -> list[str]:
    """The sections of a page and its figure, which is written beside it."""
    growths = list(growths)
    figure, axes = new_figure(1, len(growths), width=3.4, height=3.0)
    for place, growth in enumerate(growths):
        draw(axes[0, place], growth, style.colour(place))
    style.label(axes[0, 0], y="microseconds a round")
    figure.savefig(RESULTS / f"{name}.png", dpi=100)
    return [f"![Time of a round, log-log]({name}.png)", *(part for growth in growths for part in growth.section())]


def draw(axis, growth: Growth, colour: str) -> None:  # type: ignore[no-untyped-def]
    style.axes_for(axis)
    style.grid(axis)
    slope, intercept = growth.fit()
    ends = np.array([growth.sizes[-LAST], growth.sizes[-1]])
    axis.loglog(growth.sizes, growth.times, "o", color=colour)
    axis.loglog(ends, np.exp(intercept) * ends**slope, color=colour, label=f"slope {slope:.2f}")
    axis.set_xticks(growth.sizes, [str(size) for size in growth.sizes])
    ratio = growth.times[-1] / growth.times[0]  # decades alone may be too few ticks
    axis.yaxis.set_major_locator(LogLocator(subs=range(1, 10) if ratio < 5 else (1, 2, 5) if ratio < 100 else (1,)))
    axis.yaxis.set_major_formatter("{x:,.0f}")
    axis.minorticks_off()
    style.label(axis, x=growth.axis)
    style.legend(axis)
