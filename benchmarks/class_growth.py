"""How the time of a round of the classifier grows with rows, columns and classes; Polya-Gamma latents."""

from __future__ import annotations

import numpy as np
from report import machine, write
from scaling import CHAINS, Growth, microseconds, sections_and_figure

from treedgp.model.data import InputEncoder
from treedgp.model.priors import CLASS_PRIORS
from treedgp.model.problem import Problem
from treedgp.model.spec import ClassSpec, ModelSpec, Schedule


def problem(X: np.ndarray, y: np.ndarray, tree: bool, tune: int, rounds: int) -> Problem:
    """One sweep a round whatever the rows. A single leaf keeps its GP, so that every round does the same work."""
    columns = tuple(range(X.shape[1]))
    encoder = InputEncoder.learn(X, [f"x{i}" for i in columns], set(), columns, columns)
    spec = ModelSpec(
        tree=tree,
        limiting_linear=tree,
        mean="constant",
        priors=CLASS_PRIORS,
        schedule=Schedule(tune=tune, thin=rounds, latent_sweeps=1),
        classes=ClassSpec(),
    )
    return Problem.make(spec, encoder, X, y, int(y.max()) + 1)


def two_classes(n: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n + columns)
    X = rng.random((n, columns))
    surface = np.sin(6 * X).sum(axis=1) + 0.5 * rng.normal(size=n)
    return X, (surface > np.median(surface)).astype(float)


def wedges(classes: int, n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Equally many rows a class, by their angle around the middle of the unit square."""
    X = np.random.default_rng(0).random((n, 2))
    rank = np.arctan2(*(X - 0.5).T).argsort().argsort()
    return X, np.floor(classes * rank / n)


def by_rows(n: int) -> float:
    rounds = max(2, int(1e9 / n**3))
    return microseconds(problem(*two_classes(n, 2), False, 20, rounds), rounds)


def by_columns(columns: int) -> float:
    return microseconds(problem(*two_classes(200, columns), False, 20, 200), 200)


def by_latents(latents: int) -> float:
    return microseconds(problem(*wedges(latents + 1), True, 500, 50), 50, CHAINS)


def main() -> None:
    columns = "Columns (200 rows in one leaf, 2 classes; the number of range moves grows as the root)"
    classes = "Classes but the base: 2 to 10 classes, a tree for each but one (300 rows, 2 columns)"
    growths = [
        Growth.measure("Rows in one leaf (2 columns, 2 classes)", "rows", [50, 100, 200, 400, 800, 1600], by_rows),
        Growth.measure(columns, "columns", [1, 2, 4, 8, 16, 32], by_columns),
        Growth.measure(classes, "classes but the base", [1, 2, 3, 5, 7, 9], by_latents),
    ]
    note = (
        "A round makes one sweep over the classes here (`latent_sweeps=1`); by default it makes 800 / rows of them, "
        "at most 8. Rows and columns: no tree (CGP), after 20 rounds. Classes: default model, median of "
        f"{len(CHAINS)} chains after 500 rounds of tuning."
    )
    write(
        "class_growth",
        "How the time of a round of the classifier grows",
        [machine("No peer"), note, *sections_and_figure("class_growth", growths)],
    )


if __name__ == "__main__":
    main()
