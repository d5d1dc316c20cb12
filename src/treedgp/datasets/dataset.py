"""What a data set holds, and the checks that its makers share."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treedgp.errors import ConfigError

Array = NDArray[np.float64]
RandomState = int | np.random.Generator | np.random.RandomState | None


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs, responses and what is known about them."""

    X: Any
    """Inputs, (row, column): a float array, or a data frame if some columns are text."""
    y: NDArray[Any]
    """Responses or class labels, (row,)."""
    f: Array | None
    """Noise-free mean at the rows of X, (row,); None if unknown or if y holds labels."""
    feature_names: list[str]
    """One name a column."""
    categorical: list[int]
    """Indices of the categorical columns."""
    description: str
    """Where the data come from and what they mean."""


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn None, a seed, a Generator (used as it is) or a RandomState (drawn from) into a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ConfigError(
        "random_state must be None, an integer >= 0, a numpy Generator or a RandomState, "
        f"got {random_state!r}; pass for example random_state=0"
    )


def check_n(n: int, most: int | None = None) -> int:
    """Check a number of rows."""
    if isinstance(n, (int, np.integer)) and n >= 1 and (most is None or n <= most):
        return int(n)
    bounds = ">= 1" if most is None else f"from 1 to {most}"
    raise ConfigError(f"n must be an integer {bounds}, got {n!r}; choose the number of rows to make")


def check_noise(noise: float) -> float:
    """Check a standard deviation of noise."""
    if isinstance(noise, (int, float, np.integer, np.floating)) and math.isfinite(noise) and noise >= 0:
        return float(noise)
    raise ConfigError(f"noise must be a finite standard deviation >= 0, got {noise!r}; use 0 for no noise")
