"""Numbers and lists in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def counted(n: int, thing: str, things: str | None = None) -> str:
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def listed(items: Sequence[str], most: int = 8) -> str:
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + more


def quoted(values: Iterable[Any], most: int = 10) -> str:
    """As they would stand in code."""
    return listed([repr(value) for value in values], most)


def shown(value: Any) -> str:
    """Of a file that anybody may have made: never long, never deep."""
    return type(value).__name__ if isinstance(value, dict | list) else repr(value)[:80]
