"""What a data set holds, and the checks that its makers share."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treedgp.errors import ConfigError

Array = NDArray[np.float64]


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


def check_noise(noise: float) -> float:
    """Check a standard deviation of noise."""
    if isinstance(noise, (int, float, np.integer, np.floating)) and math.isfinite(noise) and noise >= 0:
        return float(noise)
    raise ConfigError(f"noise must be a finite standard deviation >= 0, got {noise!r}; use 0 for no noise")
