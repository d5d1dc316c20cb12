"""Chains as they ran."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treedgp.errors import ConfigError
from treedgp.plot.fitted import Fitted
from treedgp.plot.style import MUTED, axes_for, colour, grid, label, legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

APART = 0.06  # between chains at the same integer


def trace(model: Any, ax: Axes | None = None, *, quantity: str = "log_posterior") -> Axes:
    """Draw a watched scalar draw by draw, each chain in its colour. Chains that agree cover the same heights.

    Parameters
    ----------
    model
        A fitted estimator.
    ax
        Where to draw; None: a new figure.
    quantity
        A row of `posterior_.summary()`: "log_posterior", "n_leaves", "f(probe 0)", ...
    """
    known = Fitted.of(model).model.posterior_.watched
    if quantity not in known:
        raise ConfigError(f"quantity must be one of {', '.join(known)}, got {quantity!r}.")
    values = known[quantity]
    ax = axes_for(ax)
    grid(ax, "y")
    integer = values.dtype.kind in "iu"
    for c, chain in enumerate(values):
        style = "steps-mid" if integer else "default"
        apart = APART * (c - (len(values) - 1) / 2) if integer else 0.0
        ax.plot(chain + apart, color=colour(c), linewidth=0.9, alpha=0.8, drawstyle=style, label=f"chain {c + 1}")
    if integer:
        ax.update_datalim([(0, values.min() - 0.5), (0, values.max() + 0.5)])  # APART is little beside a step
        ax.locator_params(axis="y", integer=True, min_n_ticks=1)
    ax.axhline(float(np.median(values)), color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    label(ax, x="kept draw", y=shorten(quantity, 28))
    legend(ax, above=len(values), handlelength=1.2)
    return ax
