"""Do intervals hold as many observations as they say, and do events happen as often as their probabilities say?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils import check_consistent_length

from treedgp.errors import ConfigError
from treedgp.estimators.inputs import read_new
from treedgp.estimators.response import read_response
from treedgp.model.data import Floats
from treedgp.plot.fitted import Fitted
from treedgp.plot.style import MUTED, axes_for, colour, grid, label, legend, shorten

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 10
CHANCE = 0.9  # of the band around the diagonal


def calibration(model: Any, ax: Axes | None = None, *, X: ArrayLike | None = None, y: ArrayLike | None = None) -> Axes:
    """Draw how honest the uncertainty is; near the diagonal is good.

    Of a regressor: the share of observations within the central interval of each level, and the band in which it
    lies by chance in 9 of 10 cases. Of a classifier: for rows whose class has about the same predicted probability,
    how often it is the class.

    Parameters
    ----------
    model
        A fitted estimator.
    ax
        Where to draw; None: a new figure.
    X, y
        Rows kept out of the fit, which alone show whether new rows are covered; None: the training rows.
    """
    if (X is None) != (y is None):
        raise ConfigError("calibration needs both X and y, or neither for the training rows.")
    fitted = Fitted.of(model)
    ax = axes_for(ax)
    grid(ax)
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    if fitted.is_classifier:
        _draw_reliability(ax, fitted, X, y)
    else:
        _draw_coverage(ax, fitted, X, y)
    ticks = np.linspace(0, 1, 5)
    ax.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
    ax.set_yticks(ticks, [f"{tick:.0%}" for tick in ticks])
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    label(ax, title="training rows" if X is None else "rows given")
    return ax


def _draw_coverage(ax: Axes, fitted: Fitted, X: Any, y: Any) -> None:
    if X is None:
        rows, response = fitted.X, fitted.y
    else:
        check_consistent_length(X, y)
        rows, response = read_new(fitted.model, fitted.model._session.schema, X), read_response(y)
    within = np.sort(np.abs(2 * fitted.predictor.cdf(rows, response) - 1))  # the level that just reaches each
    levels = np.linspace(0, 1, 101)
    observed = np.searchsorted(within, levels, side="right") / len(within)
    reach = ndtri(0.5 + CHANCE / 2) * np.sqrt(levels * (1 - levels) / len(within))
    band = np.clip([levels - reach, levels + reach], 0, 1)
    ax.fill_between(levels, *band, color=MUTED, alpha=0.15, linewidth=0, label=f"{CHANCE:.0%} by chance")
    ax.plot(levels, observed, color=colour(0), linewidth=2, label=f"{len(within)} rows")
    label(ax, x="level of the interval", y="observations within")
    legend(ax)


def _draw_reliability(ax: Axes, fitted: Fitted, X: Any, y: Any) -> None:
    if X is None:
        probabilities, labels = fitted.probabilities(fitted.X), fitted.model.classes_[fitted.y.astype(int)]
    else:
        probabilities, labels = fitted.model.predict_proba(X), np.asarray(y)
    for c, name in enumerate(fitted.classes):
        if len(fitted.classes) == 2 and c == 1:
            continue  # the mirror image of the first
        said, seen, rows = binned(probabilities[:, c], labels == fitted.model.classes_[c])
        ax.plot(said, seen, color=colour(c), linewidth=1.5, label=shorten(name))
        ax.scatter(said, seen, s=10 + 150 * rows / rows.sum(), color=colour(c), zorder=3)
    label(ax, x="predicted probability", y="share of rows")
    legend(ax)


def binned(probability: Floats, happened: Any) -> tuple[Floats, Floats, Floats]:
    """Mean probability, share that happened and rows of each bin that has any."""
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    rows = np.bincount(place, minlength=BINS).astype(float)
    said, seen = (np.bincount(place, weights=np.asarray(v, float), minlength=BINS) for v in (probability, happened))
    filled = rows > 0
    return said[filled] / rows[filled], seen[filled] / rows[filled], rows[filled]
