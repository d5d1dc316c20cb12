"""Arguments that data sets and designs share."""

from __future__ import annotations

from typing import Any

import numpy as np

from treedgp.errors import ConfigError

RandomState = int | np.random.Generator | np.random.RandomState | None


def as_generator(random_state: RandomState) -> np.random.Generator:
    """Turn None, a seed, a Generator (used as it is) or a RandomState (drawn from) into a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ConfigError(
        "random_state must be None, an integer >= 0, a numpy Generator or a RandomState, "
        f"got {random_state!r}; pass for example random_state=0"
    )


def check_count(n: Any, most: int | None = None) -> int:
    """A number of rows or points; `most` are there to choose from."""
    if isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1 and (most is None or n <= most):
        return int(n)
    bounds = ">= 1" if most is None else f"from 1 to {most}, the number of candidates"
    raise ConfigError(f"n must be an integer {bounds}, got {n!r}; it is the number of rows wanted")
