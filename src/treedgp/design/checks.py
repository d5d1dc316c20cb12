"""Checks that the designs share."""

from __future__ import annotations

from typing import Any

import numpy as np

from treedgp.errors import ConfigError


def check_count(n: Any, most: int | None = None) -> int:
    """A number of points."""
    if isinstance(n, int | np.integer) and not isinstance(n, bool) and int(n) >= 1 and (most is None or int(n) <= most):
        return int(n)
    bounds = ">= 1" if most is None else f"from 1 to {most}, the number of candidates"
    raise ConfigError(f"n must be an integer {bounds}, got {n!r}. It is the number of points wanted.")


def generator_from(random_state: Any) -> np.random.Generator:
    """None, an integer >= 0 or a Generator."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ConfigError(
            f"random_state must be None, an integer >= 0 or a NumPy Generator, got {random_state!r}. "
            "Pass for example random_state=0."
        ) from error
