"""Which columns are meant: masks, indices or names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from numbers import Integral
from typing import Any

import numpy as np

from treedgp.errors import ConfigError

SHOWN = 10  # column names in an error message


def chosen_columns(argument: str, columns: Any, default: list[int], names: Sequence[str]) -> list[int]:
    """Sorted indices of the columns given as a mask, indices or names; `default` if None. Integers are positions."""
    if columns is None:
        return default
    chosen = _as_list(argument, columns, names)
    if chosen and all(isinstance(value, bool | np.bool_) for value in chosen):
        if len(chosen) != len(names):
            raise ConfigError(f"{argument}: a mask needs {len(names)} entries, one a column, got {len(chosen)}.")
        return [i for i, wanted in enumerate(chosen) if wanted]
    if all(isinstance(value, str) for value in chosen):
        return sorted({_index_of(argument, value, names) for value in chosen})
    if not all(isinstance(value, Integral) and not isinstance(value, bool | np.bool_) for value in chosen):
        raise ConfigError(
            f"{argument} must be None, a mask, or a list of either column indices or column names, got {columns!r}."
        )
    if min(chosen) < 0 or max(chosen) >= len(names):
        raise ConfigError(f"{argument}: column indices must lie in 0 .. {len(names) - 1}, got {columns!r}.")
    return sorted({int(i) for i in chosen})


def _as_list(argument: str, columns: Any, names: Sequence[str]) -> list[Any]:
    expected = f"{argument} must be None, a mask or a list of indices or names, got {columns!r}."
    if isinstance(columns, str):
        raise ConfigError(expected + (f" For the one column write [{columns!r}]." if columns in names else ""))
    if isinstance(columns, Iterator):  # nothing would be left of it to save
        raise ConfigError(f"{expected} It can be read only once: make it a list.")
    try:
        return list(columns)
    except TypeError:
        raise ConfigError(expected) from None


def _index_of(argument: str, name: str, names: Sequence[str]) -> int:
    if name in names:
        return list(names).index(name)
    close = [repr(other) for other in get_close_matches(name, names)]
    shown = ", ".join(repr(other) for other in names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
    hint = f"Did you mean {' or '.join(close)}?" if close else f"The columns are {shown}."
    raise ConfigError(f"{argument}: expected names of columns of X, got {name!r}. {hint}")
