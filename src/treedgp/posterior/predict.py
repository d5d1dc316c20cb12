"""Prediction from every kept draw: moments, quantiles, joint laws, samples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import eigh
from scipy.special import ndtr, ndtri

import treedgp._core as _core
from treedgp.errors import DataError, sampler_errors
from treedgp.model.data import Codes, Floats
from treedgp.model.problem import Problem
from treedgp.posterior.draws import Draws

BLOCK_ENTRIES = 4_000_000  # of a (draw, row) array held at once
DRAWS_A_TASK = 32
JOINT_ROWS = 2000


@dataclass(frozen=True, eq=False)
class Predictor:
    """The predictive law, a mixture over draws of normals: in the user's units, at the user's X."""

    problem: Problem
    draws: Draws
    n_jobs: int | None = None
    labels: ClassVar[tuple[Any, ...]] = ()  # a regressor has no classes
    targets: ClassVar[tuple[Any, ...]] = ()

    @property
    def layers(self) -> tuple[Draws, ...]:
        return (self.draws,)

    def mean_and_variance(self, X: Floats, of: str = "y") -> tuple[Floats, Floats]:
        """Law of total variance over draws: mean of the variances plus variance of the means."""
        mean, variance = np.empty(len(X)), np.empty(len(X))
        for rows in self._rowblocks(len(X)):
            mu, var = self._components(X[rows], of)
            mean[rows] = mu.mean(axis=0)
            variance[rows] = var.mean(axis=0) + mu.var(axis=0)
        return self.problem.scale.unscale(mean), variance * self.problem.scale.width**2

    def quantiles(self, X: Floats, q: Floats, of: str = "y") -> Floats:
        """(row, q) quantiles of the mixture."""
        out = np.empty((len(X), len(q)))
        for rows in self._rowblocks(len(X)):
            mu, var = self._components(X[rows], of)
            for j, level in enumerate(q):
                out[rows, j] = mixture_quantile(mu, np.sqrt(var), level)
        return self.problem.scale.unscale(out)

    def probe_traces(self, probes: Floats) -> dict[str, Floats]:
        """(draw) of each quantity that tells whether chains agree on the surface: E f at a few rows."""
        means = self.mean_by_draw(probes)
        return {f"f(probe {i})": means[:, i] for i in range(len(probes))}

    def cdf(self, X: Floats, y: Floats) -> Floats:
        """(row): probability that a new observation is at most y."""
        z = self.problem.scale.scale(y)
        out = np.empty(len(X))
        for rows in self._rowblocks(len(X)):
            mu, var = self._components(X[rows], "y")
            out[rows] = ndtr((z[rows] - mu) / _spread(mu, np.sqrt(var))).mean(axis=0)
        return out

    def thinned(self, n: int) -> Predictor:
        """The same from n draws, evenly spread over all chains."""
        return replace(self, draws=self.draws.take(self.draws.thinned(n)))

    def mean_by_draw(self, X: Floats) -> Floats:
        """(draw, row): E f(x) given each draw."""
        return self.problem.scale.unscale(self._components(X, "f")[0])

    def joint(self, X: Floats, of: str = "y") -> tuple[Floats, Floats]:
        """Mean (row) and covariance (row, row)."""
        self._check_joint(len(X))
        average, square = np.zeros(len(X)), np.zeros((len(X), len(X)))
        n = len(self.draws)
        for before, (mean, noise, cov) in enumerate(self._joint_draws(X, np.arange(n))):
            # From the average so far: a difference of squares has no digits left where sds are small against the mean.
            off = mean - average
            average += off / (before + 1)
            square += cov + np.outer(off, off) * (before / (before + 1))
            if of == "y":
                square[np.diag_indices(len(X))] += noise
        return self.problem.scale.unscale(average), square / n * self.problem.scale.width**2

    def sample_f(self, X: Floats, draws: np.ndarray, rng: np.random.Generator) -> Floats:
        """(draw, row): f(x), jointly over rows, one sample a draw."""
        return self._sample(X, draws, rng, noisy=False)

    def sample_y(self, X: Floats, draws: np.ndarray, rng: np.random.Generator) -> Floats:
        """(draw, row): new observations."""
        return self._sample(X, draws, rng, noisy=True)

    def _sample(self, X: Floats, draws: np.ndarray, rng: np.random.Generator, noisy: bool) -> Floats:
        self._check_joint(len(X))
        out = np.empty((len(draws), len(X)))
        for i, (mean, noise, cov) in enumerate(self._joint_draws(X, draws)):
            out[i] = mean + _square_root(cov) @ rng.standard_normal(len(X))
            if noisy:
                out[i] += np.sqrt(noise) * rng.standard_normal(len(X))
        return self.problem.scale.unscale(out)

    def _rowblocks(self, n: int) -> Iterator[slice]:
        return blocks(n, max(256, BLOCK_ENTRIES // len(self.draws)))

    def _encode(self, X: Floats) -> tuple[Floats, Codes]:
        return self.problem.encoder.leaf_inputs(X), self.problem.encoder.codes(X)

    def _components(self, X: Floats, of: str) -> tuple[Floats, Floats]:
        """(draw, row) mean and variance of the mixture's components, scaled response."""
        x, codes = self._encode(X)
        with sampler_errors("Predictions cannot be made"):
            moments = Parallel(n_jobs=self.n_jobs, backend="threading")(  # draws are here: no other process needs them
                delayed(_core.moments)(self.problem.core, self.draws.arrays, block.start, block.stop, x, codes)
                for block in blocks(len(self.draws), DRAWS_A_TASK)
            )
        joined = np.concatenate(moments, axis=1)
        return joined[0], joined[1 if of == "f" else 2]

    def _joint_draws(self, X: Floats, draws: np.ndarray) -> Iterator[tuple[Floats, Floats, Floats]]:
        x, codes = self._encode(X)
        for draw in draws:
            with sampler_errors("Predictions cannot be made"):
                law = _core.joint(self.problem.core, self.draws.arrays, int(draw), x, codes)
            yield law

    def _check_joint(self, rows: int) -> None:
        if rows > JOINT_ROWS:
            raise DataError(
                f"A joint law over {rows} rows needs a {rows} x {rows} matrix for each draw; at most {JOINT_ROWS} "
                "rows are allowed. Ask for fewer rows at a time, or for each row alone: standard deviations and "
                "quantiles of a regressor, latent_mean_and_variance of a classifier."
            )


def mixture_quantile(mu: Floats, sd: Floats, level: float, tolerance: float = 1e-10) -> Floats:
    """Quantile of the equal mixture over axis 0 of N(mu, sd^2), for each column: bisection with Newton steps.

    `tolerance` is relative to the narrowest component.
    """
    spread = _spread(mu, sd)
    narrowest = spread.min(axis=0)
    low, high = (mu - 40 * spread).min(axis=0), (mu + 40 * spread).max(axis=0)
    x = np.clip(np.quantile(mu, level, axis=0) + ndtri(level) * np.median(spread, axis=0), low, high)
    found: Floats = np.empty(len(x))
    left = np.arange(len(x))
    for _ in range(200):
        u = (x - mu) / spread
        excess = ndtr(u).mean(axis=0) - level
        low, high = np.where(excess < 0, x, low), np.where(excess > 0, x, high)
        density = (np.exp(-0.5 * u * u) / spread).mean(axis=0) / np.sqrt(2 * np.pi)
        newton = x - excess / np.maximum(density, 1e-300)
        inside = (newton > low) & (newton < high)
        step = np.where(excess == 0, x, np.where(inside, newton, 0.5 * (low + high)))
        going = np.abs(step - x) > np.maximum(tolerance * narrowest, 4 * np.finfo(float).eps * np.abs(step))
        x = step
        found[left] = x
        if not going.any():
            break
        if going.mean() < 0.75:  # a few columns may take many steps
            mu, spread = mu[:, going], spread[:, going]
            x, low, high, narrowest, left = (each[going] for each in (x, low, high, narrowest, left))
    return found


def _spread(mu: Floats, sd: Floats) -> Floats:
    """A certain component is a very narrow one."""
    return np.maximum(sd, 1e-12 * (1 + np.abs(mu)))


def _square_root(cov: Floats) -> Floats:
    """S with S S' = cov; cov may be singular."""
    values, vectors = eigh(cov, driver="evr")  # NumPy's driver fails on some matrices that have a root
    root: Floats = vectors * np.sqrt(np.maximum(values, 0))
    return root


def blocks(n: int, size: int) -> Iterator[slice]:
    for begin in range(0, n, size):
        yield slice(begin, min(begin + size, n))
