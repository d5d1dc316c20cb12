"""Sizes that a machine cannot take, told before the work begins."""

from __future__ import annotations

import os
import warnings

from treedgp.errors import DataError, frames_to_the_user

SLOW_ROWS = 5000  # of one region: a proposal takes seconds
BYTES = 8


FEWER = "Use fewer rows (treedgp.design.maximum_entropy picks a spread-out subset), or"


def check_memory(n: int, leaf: str, workers: int, n_latents: int) -> None:
    """A GP leaf factorises an n x n matrix, and every function of a chain starts with all rows in one leaf.

    `n_latents` is 0 in regression.
    """
    if leaf != "gp":
        return
    needed, memory = BYTES * n**2 * workers * max(1, n_latents), physical_memory()
    if memory is not None and needed > memory:
        raise DataError(
            f"A Gaussian process on {n} rows needs {needed / 1e9:.0f} GB for {workers} chain(s) at a time, expected at "
            f"most the {memory / 1e9:.0f} GB of this machine. {FEWER} {_cheaper(n_latents)}."
        )


def warn_of_a_large_region(n: int, leaf: str, n_latents: int) -> None:
    if leaf == "gp" and n > SLOW_ROWS:
        warnings.warn(
            f"{n} rows start in one region, where a proposal costs n^3: a round will take minutes. "
            f"{FEWER} {_cheaper(n_latents)}.",
            UserWarning,
            stacklevel=frames_to_the_user(),
        )


def _cheaper(n_latents: int) -> str:
    return "leaf='constant'" if n_latents else "leaf='linear' or 'constant'"


def physical_memory() -> int | None:
    """Bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
