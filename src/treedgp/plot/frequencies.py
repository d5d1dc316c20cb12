"""How often trees split on each column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from treedgp.plot.fitted import Fitted
from treedgp.plot.style import HATCHES, INK, PAPER, axes_for, colour, form, grid, key, label, legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHOWN = 20  # columns
BAR_HEIGHT = 0.28  # inches


def split_frequencies(model: Any, ax: Axes | None = None, *, target: Any = None) -> Axes:
    """Draw the share of draws whose tree splits on each column, the largest first.

    Parameters
    ----------
    model
        A fitted estimator.
    ax
        Where to draw; None: a new figure.
    target
        The class whose trees are counted, where each has its own; None: all, side by side.
    """
    fitted = Fitted.of(model)
    shares = fitted.frequencies
    if target is not None:
        shares = model.posterior_.split_frequencies(target).to_frame(str(target))
    order = shares.mean(axis=1).sort_values(ascending=False, kind="stable").index
    shares = shares.loc[order[:SHOWN]]
    bars = shares.shape[1]
    ax = axes_for(ax, height=0.9 + BAR_HEIGHT * len(shares) * (1 + 0.6 * (bars - 1)))
    grid(ax, "x")
    places, thickness = np.arange(len(shares)), 0.6 / bars
    for t, name in enumerate(shares):
        offset = (t - (bars - 1) / 2) * thickness
        look: dict[str, Any] = {"color": colour(t), "edgecolor": PAPER, "linewidth": 0, "hatch": form(t, HATCHES)}
        drawn = ax.barh(places + offset, shares[name], thickness, label=key(name), **look)
        if bars == 1:
            ax.bar_label(drawn, [f"{share:.0%}" for share in shares[name]], padding=3, fontsize=9, color=INK)
    ax.set_yticks(places, [shorten(str(name)) for name in shares.index], parse_math=False)
    ax.set_ylim(max(1, len(shares)) - 0.5, -0.5)
    ax.set_xlim(0, 1.12)
    ax.set_xticks(np.linspace(0, 1, 5), [f"{share:.0%}" for share in np.linspace(0, 1, 5)])
    hidden = len(order) - len(shares)
    more = f"\n({hidden} more column{'s' if hidden > 1 else ''})" if hidden else ""
    label(ax, x=f"share of draws that split on it{more}")
    if bars > 1:
        legend(ax, above=bars, handlelength=1)
    return ax
