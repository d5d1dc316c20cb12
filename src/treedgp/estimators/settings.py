"""Checks of single settings, shared by the estimators."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from treedgp.errors import ConfigError
from treedgp.model.priors import LARGEST_COUNT


def check_positive_integer(name: str, value: Any, least: int = 1) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= LARGEST_COUNT:
        raise ConfigError(f"{name} must be an integer of at least {least} and below 2**31, got {value!r}.")


def check_run_settings(n_jobs: Any, progressbar: Any) -> None:
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ConfigError(f"n_jobs must be None or an integer other than 0 (-1: every core), got {n_jobs!r}.")
    if not (isinstance(progressbar, bool) or progressbar == "auto"):
        raise ConfigError(f"progressbar must be True, False or 'auto', got {progressbar!r}.")


def check_share(name: str, value: Any) -> None:
    if not (isinstance(value, Real) and 0 < float(value) < 1):
        raise ConfigError(f"{name} must be a number between 0 and 1, got {value!r}. Write 0.9 for 90%.")


def check_levels(q: Any) -> NDArray[np.float64]:
    """Quantile levels as an array of one axis."""
    try:
        levels = np.atleast_1d(np.asarray(q, dtype=np.float64))
    except (TypeError, ValueError):
        levels = np.empty(0)
    if levels.ndim != 1 or levels.size == 0 or not ((levels > 0) & (levels < 1)).all():
        raise ConfigError(f"q must be one or more numbers between 0 and 1, got {q!r}.")
    return levels


def check_of(of: str) -> None:
    if of not in ("y", "f"):
        raise ConfigError(f"of must be 'y' (a new observation) or 'f' (the surface), got {of!r}.")


def seed_from(random_state: Any) -> int:
    """A 64-bit seed: from an integer or a generator reproducibly, from None afresh."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    try:
        generator = check_random_state(random_state)
    except ValueError as error:
        raise ConfigError(
            f"random_state must be None, an integer from 0 to 2**32 - 1 or a NumPy generator, got {random_state!r}."
        ) from error
    words = generator.randint(0, 2**32, size=2, dtype=np.uint64)
    return int(words[0]) << 32 | int(words[1])
