"""Which columns are meant: masks, indices, "categorical"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from treedgp.errors import ConfigError


def chosen_columns(argument: str, columns: Sequence[Any] | str | None, default: list[int], n_columns: int) -> list[int]:
    """Sorted indices of the columns named by an argument; `default` if it is None."""
    if columns is None:
        return default
    values = np.asarray(columns)
    if values.dtype == bool:
        if values.shape != (n_columns,):
            raise ConfigError(f"{argument}: a mask needs {n_columns} entries, got {values.shape}.")
        return [int(i) for i in np.flatnonzero(values)]
    if values.size == 0:
        return []
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ConfigError(f"{argument} must be None, a mask or a list of column indices, got {columns!r}.")
    if values.min() < 0 or values.max() >= n_columns:
        raise ConfigError(f"{argument}: column indices must lie in 0 .. {n_columns - 1}, got {columns!r}.")
    return sorted({int(i) for i in values})


def categorical_columns(argument: Sequence[Any] | str | None, n_columns: int) -> set[int]:
    """Indices of the categorical columns of a numeric array."""
    if isinstance(argument, str):
        if argument != "from_dtype":
            raise ConfigError(f"categorical_features must be 'from_dtype', None, a mask or a list, got {argument!r}.")
        return set()
    return set(chosen_columns("categorical_features", argument, [], n_columns))
