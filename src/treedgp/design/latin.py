"""Latin hypercubes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treedgp.checks import as_generator, check_count
from treedgp.errors import DataError


def latin_hypercube(n: int, bounds: ArrayLike, random_state: Any = None) -> NDArray[np.float64]:
    """Sample n points such that each of n equal slices of every axis holds exactly one.

    Parameters
    ----------
    n : int
        Number of points.
    bounds : array-like of shape (columns, 2)
        The lower and upper bound of each column.
    random_state : None, int or Generator
        Fixes the points.

    Returns
    -------
    ndarray of shape (n, columns)
    """
    n, rng = check_count(n), as_generator(random_state)
    try:
        box = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        box = np.empty(0)
    if box.ndim != 2 or box.shape[1] != 2 or not np.isfinite(box).all() or not (box[:, 0] < box[:, 1]).all():
        raise DataError(
            f"bounds must hold a finite (lower, upper) with lower < upper for each column, got {bounds!r}. "
            "Pass for example [(0, 1), (-2, 2)]."
        )
    strata = rng.permuted(np.tile(np.arange(n), (len(box), 1)), axis=1).T  # (n, columns)
    share = (strata + rng.uniform(size=strata.shape)) / n
    points: NDArray[np.float64] = box[:, 0] + share * (box[:, 1] - box[:, 0])
    return points
