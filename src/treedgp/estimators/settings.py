"""Checks of single settings, shared by the estimators."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from treedgp.errors import ConfigError


def check_positive_integer(name: str, value: Any, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ConfigError(f"{name} must be an integer of at least {least}, got {value!r}.")


def check_of(of: str) -> None:
    if of not in ("y", "f"):
        raise ConfigError(f"of must be 'y' (a new observation) or 'f' (the surface), got {of!r}.")


def seed_from(random_state: Any) -> int:
    """A 64-bit seed: from an integer or a generator reproducibly, from None afresh."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    words = check_random_state(random_state).randint(0, 2**32, size=2, dtype=np.uint64)
    return int(words[0]) << 32 | int(words[1])
