"""Tables and numbers for the pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version

import numpy as np

import treedgp._core as _core


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is text, the others are aligned to the right."""
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a row has {len(row)} cells, the header {len(header)}")
    lines = [header, [":--", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def number(value: float | None, digits: int = 2) -> str:
    """Fixed digits; a dash where there is none."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def seconds(values: Sequence[float] | np.ndarray) -> str:
    """The mean, with as many digits as matter."""
    mean = float(np.mean(values))
    return number(mean, 0 if mean >= 100 else 1 if mean >= 10 else 2)


def versions() -> str:
    """When and with what, for the foot of a page."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("treedgp", "numpy", "scikit-learn"))
    return f"{date.today()}, {packages}, kernel {_core.isa()}."
