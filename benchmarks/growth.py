"""How the time of a round grows with rows, inputs and leaves; default schedule."""

from __future__ import annotations

import numpy as np
import pandas as pd
from report import machine, table, write
from tasks import Task, one_leaf, rounds_per_second

from treedgp import Priors, TreePrior
from treedgp.sampling.chain import start_chain


def microseconds(task: Task, priors: Priors, tune: int, rounds: int) -> float:
    problem = task.problem(priors, tune=tune, thin=rounds)
    _, chain = rounds_per_second(problem, start_chain(problem, 1, 0), tune)
    return 1e6 * min(rounds_per_second(problem, chain, rounds)[0] for _ in range(2))


def grow(values: list[int], time_of) -> pd.DataFrame:  # type: ignore[no-untyped-def]
    times = [time_of(v) for v in values]
    slopes = np.diff(np.log(times)) / np.diff(np.log(values))
    return pd.DataFrame(
        {"": values, "us a round": [f"{t:.0f}" for t in times], "slope": ["", *(f"{s:.2f}" for s in slopes)]}
    )


def steps(leaves: int) -> Task:
    """A step function of `leaves` levels over 960 rows: a tree of as many leaves."""
    x = np.linspace(0, 1, 960)
    y = 10.0 * np.floor(x * leaves) * (-1) ** np.floor(x * leaves) + np.random.default_rng(0).normal(size=960)
    return Task("steps", x[:, None], y, "btgpllm")


def main() -> None:
    def by_n(n: int) -> float:
        return microseconds(one_leaf(n), Priors(), 4, max(2, int(2e9 / n**3)))

    def by_p(p: int) -> float:
        return microseconds(one_leaf(200, p), Priors(), 20, 200)

    def by_leaves(leaves: int) -> float:
        return microseconds(steps(leaves), Priors(tree=TreePrior(alpha=0.95, beta=0.5)), 600, 200)

    parts = [machine("No peer")]
    parts += ["## Rows in one leaf (2 inputs)", table(grow([50, 100, 200, 400, 800, 1600, 3200], by_n))]
    parts += [
        "## Inputs (200 rows in one leaf; the number of range moves grows as the root)",
        table(grow([1, 2, 5, 10, 20, 40], by_p)),
    ]
    parts += ["## Leaves (960 rows, a step function)", table(grow([2, 4, 8, 16], by_leaves))]
    write("growth", "How the time of a round grows", parts)


if __name__ == "__main__":
    main()
