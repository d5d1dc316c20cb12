"""Do intervals hold as many observations as they say, and do events happen as often as their probabilities say?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from treedgp.errors import ConfigError, DataError
from treedgp.estimators.inputs import read_new
from treedgp.estimators.labels import plain_labels
from treedgp.estimators.response import check_one_each, read_response
from treedgp.model.data import Floats
from treedgp.plot.fitted import Fitted
from treedgp.plot.style import COLOURS, MUTED, axes_for, colour, grid, key, label, legend
from treedgp.words import quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 10
CHANCE = 0.9  # of the band around the diagonal


def calibration(model: Any, ax: Axes | None = None, *, X: ArrayLike | None = None, y: ArrayLike | None = None) -> Axes:
    """Draw how honest the uncertainty is; near the diagonal is good.

    Of a regressor: the share of observations within the central interval of each level, and the band in which it
    lies by chance in 9 of 10 cases. Of a classifier: for rows whose class has about the same predicted probability,
    how often it is the class; of many classes only the commonest are drawn.

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
    rows, response = (fitted.X, fitted.y) if X is None else _kept_out(fitted, X, y)
    ax = axes_for(ax)
    grid(ax)
    ax.plot([0, 1], [0, 1], color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
    label(ax, title="training rows" if X is None else "rows given")
    draw = _draw_reliability if fitted.is_classifier else _draw_coverage
    draw(ax, fitted, rows, response)
    ticks = np.linspace(0, 1, 5)
    ax.set_xticks(ticks, [f"{tick:.0%}" for tick in ticks])
    ax.set_yticks(ticks, [f"{tick:.0%}" for tick in ticks])
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    return ax


def _kept_out(fitted: Fitted, X: Any, y: Any) -> tuple[Floats, Floats]:
    """X and y as the fit would have read them."""
    rows = read_new(fitted.model, fitted.model._session.schema, X)
    response = _class_indices(fitted.model.classes_, y) if fitted.is_classifier else read_response(y)
    check_one_each(len(rows), len(response))
    return rows, response


def _class_indices(classes: Any, y: Any) -> Floats:
    index = {label: float(c) for c, label in enumerate(classes.tolist())}
    labels = plain_labels(y).tolist()
    unknown = dict.fromkeys(label for label in labels if label not in index)
    if unknown:
        raise DataError(
            f"Expected in y the classes of the fit, {quoted(index)}, got {quoted(unknown)}. Give y as it was in "
            "training, without the rows of other classes."
        )
    return np.array([index[label] for label in labels])


def _draw_coverage(ax: Axes, fitted: Fitted, rows: Floats, response: Floats) -> None:
    within = np.sort(np.abs(2 * fitted.predictor.cdf(rows, response) - 1))  # the level that just reaches each
    levels = np.linspace(0, 1, 101)
    observed = np.searchsorted(within, levels, side="right") / len(within)
    reach = ndtri(0.5 + CHANCE / 2) * np.sqrt(levels * (1 - levels) / len(within))
    band = np.clip([levels - reach, levels + reach], 0, 1)
    ax.fill_between(levels, *band, color=MUTED, alpha=0.15, linewidth=0, label=f"{CHANCE:.0%} by chance")
    ax.plot(levels, observed, color=colour(0), linewidth=2, label=f"{len(within)} rows")
    label(ax, x="level of the interval", y="observations within")
    legend(ax)


def _draw_reliability(ax: Axes, fitted: Fitted, rows: Floats, response: Floats) -> None:
    probabilities, n_classes = fitted.probabilities(rows), len(fitted.classes)
    commonest = np.argsort(-np.bincount(response.astype(int), minlength=n_classes), kind="stable")
    shown = np.sort(commonest[: len(COLOURS)]) if n_classes > 2 else [0]  # of two, one is the mirror image
    for i, c in enumerate(shown):
        said, seen, size = binned(probabilities[:, c], response == c)
        ax.plot(said, seen, color=colour(i), linewidth=1.5, label=key(fitted.classes[c]))
        ax.scatter(said, seen, s=10 + 150 * size / size.sum(), color=colour(i), zorder=3)
    of = f"\n(of the {len(shown)} commonest of {n_classes} classes)" if n_classes > len(COLOURS) else ""
    label(ax, x=f"predicted probability{of}", y="share of rows")
    legend(ax, above=len(shown), handlelength=1.2)


def binned(probability: Floats, happened: Any) -> tuple[Floats, Floats, Floats]:
    """Mean probability, share that happened and rows of each bin that has any."""
    place = np.minimum((probability * BINS).astype(int), BINS - 1)
    rows = np.bincount(place, minlength=BINS).astype(float)
    said, seen = (np.bincount(place, weights=np.asarray(v, float), minlength=BINS) for v in (probability, happened))
    filled = rows > 0
    return said[filled] / rows[filled], seen[filled] / rows[filled], rows[filled]
