"""How the time of a round grows with rows, inputs and leaves; default schedule."""

from __future__ import annotations

import numpy as np
from report import machine, write
from scaling import CHAINS, Growth, microseconds, sections_and_figure
from tasks import Task, one_leaf

from treedgp import Priors, TreePrior


def by_rows(n: int) -> float:
    rounds = max(2, int(2e9 / n**3))
    return microseconds(one_leaf(n).problem(Priors(), tune=4, thin=rounds), rounds)


def by_inputs(p: int) -> float:
    return microseconds(one_leaf(200, p).problem(Priors(), tune=20, thin=200), 200)


def by_levels(levels: int) -> float:
    priors = Priors(tree=TreePrior(alpha=0.95, beta=0.5))
    return microseconds(steps(levels).problem(priors, tune=2000, thin=200), 200, CHAINS)


def steps(levels: int) -> Task:
    """A step function, up and down: a leaf or more a level. With more than 8, chains may leave some to one leaf."""
    x = np.linspace(0, 1, 960, endpoint=False)
    y = 10 * (3 * np.floor(x * levels) % levels) + np.random.default_rng(0).normal(size=960)
    return Task("steps", x[:, None], y, "btgp")


def main() -> None:
    inputs = "Inputs (200 rows in one leaf; the number of range moves grows as the root)"
    levels = f"Levels of a step function over 960 rows, each a leaf or more (median of {len(CHAINS)} chains)"
    growths = [
        Growth.measure("Rows in one leaf (2 inputs)", "rows", [50, 100, 200, 400, 800, 1600, 3200], by_rows),
        Growth.measure(inputs, "inputs", [1, 2, 5, 10, 20, 40], by_inputs),
        Growth.measure(levels, "levels", [2, 4, 8], by_levels),
    ]
    write("growth", "How the time of a round grows", [machine("No peer"), *sections_and_figure("growth", growths)])


if __name__ == "__main__":
    main()
