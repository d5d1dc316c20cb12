"""Predictions along one column: at one place of the others, on average over them, and of class latents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from treedgp.errors import ConfigError
from treedgp.estimators.settings import check_share
from treedgp.model.data import Floats
from treedgp.plot.fitted import Fitted, varied
from treedgp.plot.style import LINES, LONGEST, POINTS, axes_for, colour, form, grid, key, label, legend, shorten
from treedgp.plot.training import column_axis, draw_response

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CURVE_POINTS = 120
UNNAMED = "_"  # matplotlib leaves it out of the legend
AVERAGED_POINTS, AVERAGED_ROWS = 30, 80


def slice(
    model: Any,
    ax: Axes | None = None,
    *,
    column: str | int | None = None,
    at: Mapping[str | int, Any] | None = None,
    level: float = 0.9,
) -> Axes:
    """Draw predictions along a column while the others stay where they are.

    Of a regressor: the posterior mean, the central interval of the surface (dark) and of a new observation (pale);
    with the data if there is no other column. Of a classifier: the probability of each class.

    Parameters
    ----------
    model
        A fitted estimator.
    ax
        Where to draw; None: a new figure.
    column
        None: the one that trees split on most.
    at
        Where the other columns stand (column -> number or level); by default at the median or commonest level.
    level
        Posterior probability in an interval.
    """
    check_share("level", level)
    fitted, index = _along(model, column)
    ax = axes_for(ax)
    grid(ax, "y")
    row = fitted.typical(at)
    x = fitted.values(index, CURVE_POINTS)
    rows = varied(row, {index: x})
    if fitted.is_classifier:
        _draw_probabilities(ax, fitted, index, x, fitted.probabilities(rows))
    else:
        bounds = [(1 - level) / 2, (1 + level) / 2]
        mean, _ = fitted.predictor.mean_and_variance(rows)
        new, surface = (fitted.predictor.quantiles(rows, np.array(bounds), of).T for of in "yf")
        if len(row) == 1:
            draw_response(ax, fitted, index)
        _draw_band(ax, fitted, index, x, None, new, 0, 0.15, f"{level:.0%} of new y")
        _draw_band(ax, fitted, index, x, mean, surface, 0, 0.35, f"{level:.0%} of the surface")
        label(ax, y="y")
        legend(ax, above=2)
    column_axis(ax, "x", fitted, index, fitted.rest(row, [index]))
    return ax


def projection(model: Any, ax: Axes | None = None, *, column: str | int | None = None, level: float = 0.9) -> Axes:
    """Draw what a column does on average: predictions along it, averaged over training rows for the other columns.

    Of a regressor, the band holds `level` of the rows' own predictions: where it widens, the effect depends on the
    other columns. Of a classifier: the average probability of each class.

    Parameters
    ----------
    model
        A fitted estimator.
    ax
        Where to draw; None: a new figure.
    column
        None: the one that trees split on most.
    level
        Share of rows in the band.
    """
    check_share("level", level)
    fitted, index = _along(model, column)
    ax = axes_for(ax)
    grid(ax, "y")
    x = fitted.values(index, AVERAGED_POINTS)
    picked = np.linspace(0, len(fitted.X) - 1, min(AVERAGED_ROWS, len(fitted.X))).astype(int)
    rows = np.tile(fitted.X[picked], (len(x), 1))  # (point, training row) flattened
    rows[:, index] = np.repeat(x, len(picked))
    if fitted.is_classifier:
        average = fitted.probabilities(rows).reshape(len(x), len(picked), -1).mean(axis=1)
        _draw_probabilities(ax, fitted, index, x, average)
    else:
        by_row = fitted.predictor.mean_and_variance(rows)[0].reshape(len(x), len(picked))
        band = np.quantile(by_row, [(1 - level) / 2, (1 + level) / 2], axis=1)
        _draw_band(ax, fitted, index, x, by_row.mean(axis=1), band, 0, 0.25, f"{level:.0%} of rows")
        label(ax, y="average of y")
        legend(ax, above=1)
    column_axis(ax, "x", fitted, index)
    return ax


def latent(
    model: Any,
    ax: Axes | None = None,
    *,
    column: str | int | None = None,
    at: Mapping[str | int, Any] | None = None,
    level: float = 0.9,
) -> Axes:
    """Draw the latent of each class along a column, with bands; that of the base class is 0. Classifiers only.

    Parameters
    ----------
    model
        A fitted classifier with latents.
    ax
        Where to draw; None: a new figure.
    column
        None: the one that trees split on most.
    at
        Where the other columns stand (column -> number or level); by default at the median or commonest level.
    level
        Posterior probability in a band; the latents have their nugget.
    """
    check_share("level", level)
    fitted, index = _along(model, column)
    if not fitted.is_classifier:
        raise ConfigError(f"latent needs a classifier with latents, got {type(model).__name__}. Use slice instead.")
    if fitted.spec.leaf == "constant":
        raise ConfigError(
            "latent needs a classifier with latents, got leaf='constant', which has none. Use slice instead, or fit "
            "with leaf='gp'."
        )
    ax = axes_for(ax)
    grid(ax, "y")
    row = fitted.typical(at)
    x = fitted.values(index, CURVE_POINTS)
    rows = varied(row, {index: x})
    mean, _ = fitted.predictor.latent_moments(rows)
    band = fitted.predictor.latent_quantiles(rows, np.array([(1 - level) / 2, (1 + level) / 2]))
    for c, name in enumerate(fitted.classes[:-1]):
        _draw_band(ax, fitted, index, x, mean[c], band[c].T, c, 0.25, UNNAMED)
        ax.lines[-1].set_label(key(name))  # classes may share a colour, not a line
    base, text = len(fitted.classes) - 1, key(f"{shorten(fitted.classes[-1], LONGEST - 7)} (base)")
    ax.axhline(0, color=colour(base), linestyle=form(base, LINES), label=text, linewidth=1.8)
    legend(ax, above=len(fitted.classes))
    column_axis(ax, "x", fitted, index, fitted.rest(row, [index]))
    label(ax, y="latent")
    return ax


def _along(model: Any, column: str | int | None) -> tuple[Fitted, int]:
    fitted = Fitted.of(model)
    return fitted, fitted.ranked(numeric=False)[0] if column is None else fitted.index(column)


def _draw_band(
    ax: Axes, fitted: Fitted, index: int, x: Floats, mean: Floats | None, band: Floats, c: int, alpha: float, text: str
) -> None:
    """A band, and the curve in it if given; of a categorical column a bar, and a point, for each level."""
    if fitted.is_categorical(index):
        ax.vlines(x, band[0], band[1], color=colour(c), alpha=alpha, linewidth=min(9, 150 / len(x)), label=text)
        if mean is not None:
            ax.plot(x, mean, form(c, POINTS), color=colour(c), markersize=5)
        return
    ax.fill_between(x, band[0], band[1], color=colour(c), alpha=alpha, linewidth=0, label=text)
    if mean is not None:
        ax.plot(x, mean, form(c, LINES), color=colour(c), linewidth=1.8)


def _draw_probabilities(ax: Axes, fitted: Fitted, index: int, x: Floats, probabilities: Floats) -> None:
    forms = POINTS if fitted.is_categorical(index) else LINES
    for c, name in enumerate(fitted.classes):
        ax.plot(x, probabilities[:, c], form(c, forms), color=colour(c), linewidth=1.8, label=key(name))
    ax.set_ylim(-0.03, 1.03)
    label(ax, y="probability")
    legend(ax, above=len(fitted.classes))
