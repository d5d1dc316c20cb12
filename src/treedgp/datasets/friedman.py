"""Friedman's function with a categorical input that decides which terms count."""

from typing import Literal

import numpy as np

from treedgp.checks import RandomState, as_generator, check_count
from treedgp.datasets.dataset import Array, Dataset, check_noise
from treedgp.errors import ConfigError

Coding = Literal["category", "bits3", "bits4"]

# Row i holds the columns that stand for category I = i + 1.
CODES: dict[str, Array] = {
    "category": np.array([[0.0], [1.0], [2.0], [3.0]]),
    "bits3": np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]),
    "bits4": np.eye(4),
}

DESCRIPTION = """\
Categorical Friedman data: x1..x10 uniform on [0, 1], I uniform on {1, 2, 3, 4}, and the mean

    I = 1: 10 sin(pi x1 x2)
    I = 2: 20 (x3 - 0.5)^2
    I = 3: 10 x4 + 5 x5
    I = 4: 5 x1 + 10 x2 + 20 (x3 - 0.5)^2 + 10 sin(pi x4 x5)

The first three are the terms of Friedman (1991, Annals of Statistics 19), the last is his function with
x1..x5 in reverse order. Used by Broderick and Gramacy (2011, Journal of Classification 28)."""


def make_friedman_categorical(
    n: int = 500, coding: Coding = "category", *, noise: float = 1.0, random_state: RandomState = None
) -> Dataset:
    """Make categorical Friedman data: ten uniform inputs and a category I in 1..4.

    Parameters
    ----------
    n : int
        Number of rows.
    coding : {"category", "bits3", "bits4"}
        How I is written: one column of codes 0..3 for I = 1..4; three bits 000, 001, 010, 100; or four
        indicator bits. The rows are the same for every coding.
    noise : float
        Standard deviation of the normal noise.
    random_state : None, int, Generator or RandomState
        Source of randomness.
    """
    n, noise = check_count(n), check_noise(noise)
    if coding not in CODES:
        raise ConfigError(f"coding must be one of {', '.join(map(repr, CODES))}, got {coding!r}; choose one")
    rng = as_generator(random_state)
    x = rng.uniform(size=(n, 10))
    category = rng.integers(4, size=n)
    f = _mean(x, category)
    codes = CODES[coding][category]
    names = ["category"] if coding == "category" else [f"bit{j + 1}" for j in range(codes.shape[1])]
    return Dataset(
        X=np.hstack([x, codes]),
        y=f + noise * rng.standard_normal(n),
        f=f,
        feature_names=[f"x{j + 1}" for j in range(10)] + names,
        categorical=list(range(10, 10 + codes.shape[1])),
        description=DESCRIPTION,
    )


def _mean(x: Array, category: np.ndarray) -> Array:
    """Mean at inputs x (row, 10) for categories 0..3, (row,)."""
    x1, x2, x3, x4, x5 = x[:, :5].T
    terms = np.stack(
        [
            10 * np.sin(np.pi * x1 * x2),
            20 * (x3 - 0.5) ** 2,
            10 * x4 + 5 * x5,
            5 * x1 + 10 * x2 + 20 * (x3 - 0.5) ** 2 + 10 * np.sin(np.pi * x4 * x5),
        ]
    )
    f: Array = np.take_along_axis(terms, category[np.newaxis], axis=0)[0]
    return f
