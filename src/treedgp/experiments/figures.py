"""Figures without a display; matplotlib is optional."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NO_MATPLOTLIB = "No figures: matplotlib is not installed (`pip install 'treedgp[plot]'`, then the same command again)."


def has_matplotlib() -> bool:
    return find_spec("matplotlib") is not None


def new_figure(rows: int, columns: int, width: float = 4.5, height: float = 3.5) -> tuple[Any, Any]:
    """A figure and its axes, (rows, columns); sizes in inches an axes."""
    from matplotlib.figure import Figure  # not pyplot: nothing global, no display

    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def save(figures: Mapping[str, Any], folder: Path) -> list[Path]:
    paths = []
    for stem, figure in figures.items():
        path = folder / f"{stem}.png"
        figure.savefig(path, dpi=150)
        paths.append(path)
    return paths
