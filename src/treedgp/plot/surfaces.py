"""Predictions over two columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import entr

from treedgp.errors import ConfigError
from treedgp.model.data import Floats
from treedgp.plot.fitted import Fitted, varied
from treedgp.plot.style import ERROR_MAP, INK, MEAN_MAP, axes_for, colour_bar, key, legend, shade, shorten
from treedgp.plot.training import column_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIDE = 50  # points of the grid along a column


def surface(
    model: Any,
    ax: Axes | None = None,
    *,
    columns: Sequence[str | int] | None = None,
    of: str = "mean",
    at: Mapping[str | int, Any] | None = None,
    target: Any = None,
) -> Axes:
    """Draw predictions over two numeric columns, with a dot for each training row, wherever its other columns are.

    Parameters
    ----------
    model
        A fitted estimator.
    ax
        Where to draw; None: a new figure.
    columns
        Two numeric columns; None: those that trees split on most.
    of : {"mean", "error"}
        "mean": the posterior mean; of a classifier the likeliest class, the paler the less likely, or the probability
        of `target`. "error": the standard deviation of a new observation; of a classifier the entropy of its
        probabilities, in bits.
    at
        Where the other columns stand (column -> number or level); by default at the median or commonest level.
    target
        A class, one of `classes_`.
    """
    if of not in ("mean", "error"):
        raise ConfigError(f"of must be 'mean' or 'error', got {of!r}.")
    fitted = Fitted.of(model)
    if target is not None and not fitted.is_classifier:
        raise ConfigError(
            f"target names a class, and a regressor has none: expected None, got {target!r}. Leave it out."
        )
    shown_class = None if target is None else _class_index(fitted, target)
    across, up = _two_numeric(fitted, columns)
    ax = axes_for(ax)
    row = fitted.typical(at)
    x, y = fitted.values(across, SIDE), fitted.values(up, SIDE)
    xs, ys = (values.ravel() for values in np.meshgrid(x, y))
    rows = varied(row, {across: xs, up: ys})
    if not fitted.is_classifier:
        mean, variance = fitted.predictor.mean_and_variance(rows)
        shown = (mean, MEAN_MAP, "posterior mean") if of == "mean" else (np.sqrt(variance), ERROR_MAP, "sd of a new y")
        _draw_numbers(ax, x, y, *shown)
    else:
        _draw_classes(ax, fitted, x, y, fitted.probabilities(rows), of, shown_class)
    ax.plot(fitted.X[:, across], fitted.X[:, up], ".", color=INK, markersize=2, alpha=0.5, rasterized=True)
    column_axis(ax, "x", fitted, across, fitted.rest(row, [across, up]))
    column_axis(ax, "y", fitted, up)
    return ax


def _two_numeric(fitted: Fitted, columns: Sequence[str | int] | None) -> tuple[int, int]:
    shown = sorted(fitted.ranked()[:2]) if columns is None else fitted.indices(columns, "two")
    if len(set(shown)) != 2 or any(fitted.is_categorical(i) for i in shown):
        got = f"{columns!r} of {', '.join(fitted.names)}"
        if columns is None:
            got = f"a model with {'only ' + fitted.names[shown[0]] if shown else 'none'}"
        raise ConfigError(
            f"surface needs two different numeric columns, got {got}. Over one column use slice or projection."
        )
    return shown[0], shown[1]


def _class_index(fitted: Fitted, target: Any) -> int:
    labels = fitted.model.classes_.tolist()
    try:
        return int(labels.index(target))
    except (ValueError, TypeError):  # no such label, or nothing that compares with one
        raise ConfigError(f"target must be one of {', '.join(map(repr, labels))}, got {target!r}.") from None


def _draw_numbers(ax: Axes, x: Floats, y: Floats, values: Floats, colours: str, text: str) -> None:
    colour_bar(ax, _image(ax, x, y, values.reshape(len(y), len(x)), cmap=colours), text)


def _draw_classes(
    ax: Axes, fitted: Fitted, x: Floats, y: Floats, probabilities: Floats, of: str, shown: int | None
) -> None:
    if of == "error":
        bits = entr(probabilities).sum(axis=1) / np.log(2)
        _draw_numbers(ax, x, y, bits, ERROR_MAP, "entropy (bits)")
    elif shown is not None:
        _draw_numbers(ax, x, y, probabilities[:, shown], MEAN_MAP, f"P({shorten(fitted.classes[shown])})")
    else:
        _draw_likeliest(ax, fitted, x, y, probabilities)


def _draw_likeliest(ax: Axes, fitted: Fitted, x: Floats, y: Floats, probabilities: Floats) -> None:
    """The colour of the likeliest class; the nearer its probability is to that of chance, the paler."""
    from matplotlib.patches import Rectangle

    k = len(fitted.classes)
    palette = np.array([shade(c) for c in range(k)])
    strength = (probabilities.max(axis=1) - 1 / k) / (1 - 1 / k)
    pixels = np.column_stack([palette[probabilities.argmax(axis=1)], 0.15 + 0.75 * strength])
    _image(ax, x, y, pixels.reshape(len(y), len(x), 4))
    keys = [Rectangle((0, 0), 1, 1, color=palette[c], label=key(name)) for c, name in enumerate(fitted.classes)]
    legend(ax, above=k, handles=keys, handlelength=1)


def _image(ax: Axes, x: Floats, y: Floats, pixels: Floats, **options: Any) -> Any:
    half = 0.5 * (x[1] - x[0]) or 0.5, 0.5 * (y[1] - y[0]) or 0.5  # a constant column has some width, too
    extent = (x[0] - half[0], x[-1] + half[0], y[0] - half[1], y[-1] + half[1])
    return ax.imshow(pixels, extent=extent, origin="lower", aspect="auto", interpolation="nearest", **options)
