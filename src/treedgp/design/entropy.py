"""Maximum-entropy designs: the points whose values, under a Gaussian process, are the least predictable together."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from treedgp.checks import as_generator, check_count
from treedgp.errors import ConfigError, DataError

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

JITTER = 1e-8  # on the diagonal: twins of a chosen point have no variance left, and may still be wanted
SMALLEST_GAIN = 1e-6  # of the log determinant by an exchange
MAX_EXCHANGES = 100


def maximum_entropy(
    n: int, candidates: ArrayLike, *, lengthscale: float | None = None, random_state: Any = None
) -> Indices:
    """Choose n of the candidates so that the log determinant of their correlation matrix is large.

    The points are taken one by one, each time the one with the largest variance given those before; then single
    points are exchanged for candidates as long as the determinant grows (at most 100 times). It costs about
    n^2 times the number of candidates.

    Parameters
    ----------
    n : int
        Number of points.
    candidates : array-like of shape (rows, columns)
        Numeric inputs to choose from.
    lengthscale : float, optional
        Of the correlation exp(-(distance / lengthscale)^2) between inputs scaled to the unit box.
        None: 2 n^(-1 / columns), about twice the distance between neighbours.
    random_state : None, int or Generator
        Decides between candidates that are equally good, above all the first.

    Returns
    -------
    ndarray of shape (n,)
        Row numbers of the chosen candidates: `candidates[maximum_entropy(n, candidates)]` is the design.
    """
    points = _unit_box(candidates)
    n = check_count(n, len(points))
    if lengthscale is None:
        lengthscale = 2 * n ** (-1 / points.shape[1])
    if not (isinstance(lengthscale, Real) and 0 < float(lengthscale) < np.inf):
        raise ConfigError(f"lengthscale must be a positive number (1: the width of the box), got {lengthscale!r}.")
    order = as_generator(random_state).permutation(len(points))
    scaled = points[order] / float(lengthscale)
    chosen = _greedy(scaled, n)
    if n < len(points):
        chosen = _exchanged(scaled, chosen)
    return np.asarray(order[chosen], dtype=np.int64)


def _unit_box(candidates: ArrayLike) -> Floats:
    try:
        points = np.asarray(candidates, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"candidates must be numbers: {error}. Leave out or code the columns of text.") from error
    if points.ndim != 2 or 0 in points.shape or not np.isfinite(points).all():
        raise DataError(
            "candidates must be finite numbers of shape (rows, columns), got "
            f"{'missing or infinite ones' if points.ndim == 2 and points.size else f'shape {points.shape}'}. "
            "Drop such rows, or reshape."
        )
    low, width = points.min(axis=0), np.ptp(points, axis=0)
    return np.asarray((points - low) / np.where(width > 0, width, 1.0))


def _correlation(points: Floats, to: Floats) -> Floats:
    """(rows, rows of `to`)."""
    square = (points**2).sum(axis=1)[:, None] + (to**2).sum(axis=1) - 2 * points @ to.T
    return np.asarray(np.exp(-np.maximum(square, 0)))


def _greedy(points: Floats, n: int) -> Indices:
    """Pivoted Cholesky: column k of the factor is what point k tells that the points before it do not."""
    factor = np.empty((n, len(points)))
    variance = np.full(len(points), 1 + JITTER)
    chosen = np.empty(n, dtype=np.int64)
    for k in range(n):
        best = int(np.argmax(variance))
        residual = _correlation(points, points[best : best + 1])[:, 0]
        residual -= factor[:k, best] @ factor[:k]
        factor[k] = residual / np.sqrt(max(variance[best], JITTER))
        chosen[k] = best
        variance -= factor[k] ** 2
        variance[chosen[: k + 1]] = -np.inf
    return chosen


@dataclass
class _Conditional:
    """The candidates given the chosen points."""

    inverse: Floats  # (n, n) of the correlation of the chosen
    weights: Floats  # (candidates, n): correlation with the chosen, times the inverse
    variance: Floats  # (candidates) left

    @classmethod
    def of(cls, points: Floats, chosen: Indices) -> _Conditional:
        cross = _correlation(points, points[chosen])
        inverse: Floats = np.linalg.inv(cross[chosen] + JITTER * np.eye(len(chosen))).astype(np.float64)
        weights = cross @ inverse
        return cls(inverse, weights, 1 + JITTER - (weights * cross).sum(axis=1))

    def best_exchange(self, chosen: Indices) -> tuple[float, int, int]:
        """Growth of the log determinant, the place given up, the candidate taken in."""
        growth = self.weights**2 + np.outer(self.variance, np.diag(self.inverse))
        growth[chosen] = 0
        candidate, place = np.unravel_index(int(np.argmax(growth)), growth.shape)
        with np.errstate(divide="ignore"):  # log 0 where the candidates are twins of the chosen
            return float(np.log(growth[candidate, place])), int(place), int(candidate)

    def drop(self, i: int) -> None:
        lost = self.weights[:, i] / self.inverse[i, i]
        self.variance += self.weights[:, i] * lost
        self.weights -= np.outer(lost, self.inverse[i])
        self.inverse -= np.outer(self.inverse[:, i], self.inverse[i]) / self.inverse[i, i]

    def add(self, i: int, j: int, points: Floats, chosen: Indices) -> None:
        """Candidate j in the place i, which is empty."""
        weight, left = self.weights[j].copy(), self.variance[j]
        weight[i] = -1
        known = _correlation(points[j : j + 1], points[chosen])[0]
        known[i] = 0
        residual = _correlation(points, points[j : j + 1])[:, 0] - self.weights @ known
        self.variance -= residual**2 / left
        self.weights -= np.outer(residual, weight) / left
        self.inverse += np.outer(weight, weight) / left


def _exchanged(points: Floats, chosen: Indices) -> Indices:
    chosen = chosen.copy()
    given = _Conditional.of(points, chosen)
    for _ in range(MAX_EXCHANGES):
        growth, place, candidate = given.best_exchange(chosen)
        if growth < SMALLEST_GAIN:
            break
        given.drop(place)
        given.add(place, candidate, points, chosen)
        chosen[place] = candidate
    return chosen
