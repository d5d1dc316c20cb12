"""Sizes that a machine cannot take, told before the work begins."""

from __future__ import annotations

import os
import warnings

from treedgp.errors import DataError

SLOW_ROWS = 5000  # of one region: a proposal takes seconds
BYTES = 8


def check_size(n: int, leaf: str, chains: int, n_latents: int = 0) -> None:
    """A GP leaf factorises an n x n matrix, and every function of a chain starts with all rows in one leaf.

    `n_latents` is 0 in regression.
    """
    if leaf != "gp" or n <= SLOW_ROWS:
        return
    needed, memory = BYTES * n**2 * chains * max(1, n_latents), physical_memory()
    leaves = "leaf='constant'" if n_latents else "leaf='linear' or 'constant'"
    advice = f"Use fewer rows (treedgp.design.maximum_entropy picks a spread-out subset), or {leaves}."
    if memory is not None and needed > memory:
        raise DataError(
            f"A Gaussian process on {n} rows needs {needed / 1e9:.0f} GB for {chains} chain(s), expected at most the "
            f"{memory / 1e9:.0f} GB of this machine. {advice}"
        )
    warnings.warn(
        f"{n} rows start in one region, where a proposal costs n^3: a round will take minutes. {advice}",
        UserWarning,
        stacklevel=5,
    )


def physical_memory() -> int | None:
    """Bytes; None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None
