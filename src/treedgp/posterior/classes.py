"""Prediction of classes from every kept draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.special import ndtri
from scipy.stats import qmc

import treedgp._core as _core
from treedgp.errors import sampler_errors
from treedgp.model.data import Floats
from treedgp.model.problem import Problem
from treedgp.posterior.draws import Draws
from treedgp.posterior.predict import BLOCK_ENTRIES, DRAWS_A_TASK, Predictor, blocks

N_NODES = 4096  # of the latents' law in all, shared out over the draws
NODES_A_DRAW = (32, 256)  # at least, at most


@dataclass(frozen=True, eq=False)
class ClassPredictor:
    """The predictive law of the label at the user's X: a mixture over draws.

    `labels` are the classes; the last is the base, whose latent is 0.
    """

    problem: Problem
    layers: tuple[Draws, ...]
    labels: tuple[Any, ...]
    n_jobs: int | None = None

    @property
    def targets(self) -> tuple[Any, ...]:
        """The classes that a tree can be asked of."""
        return self.labels[:-1]

    def shares(self, X: Floats) -> tuple[Floats, Floats]:
        """(row, class) probabilities, the softmax averaged over draws and latents, and votes."""
        n, classes = len(X), self.problem.n_classes
        out = np.zeros((2, n, classes))
        total = len(self.layers[0])
        for rows in blocks(n, max(64, BLOCK_ENTRIES // (2 * classes * DRAWS_A_TASK))):
            out[:, rows] = sum(self._by_task(X[rows], lambda shares: shares.sum(axis=1), self._nodes_of))
        return out[0] / total, out[1] / total

    def probability_by_draw(self, X: Floats) -> Floats:
        """(draw, row, class), every draw by the same nodes, so that draws differ by what was drawn alone."""
        return np.concatenate(self._by_task(X, lambda shares: shares[0], lambda _: self._nodes[: NODES_A_DRAW[1]]))

    def probe_traces(self, probes: Floats) -> dict[str, Floats]:
        """(draw) of each quantity that tells whether chains agree: class probabilities at a few rows."""
        shares = self.probability_by_draw(probes)
        return {
            f"p(probe {i}, {label})": shares[:, i, c]
            for i in range(len(probes))
            for c, label in enumerate(self.targets)
        }

    def latent_moments(self, X: Floats) -> tuple[Floats, Floats]:
        """(class but the base, row) mean and variance of the latents with their nugget."""
        moments = [predictor.mean_and_variance(X) for predictor in self._latents()]
        return np.array([mean for mean, _ in moments]), np.array([variance for _, variance in moments])

    def latent_quantiles(self, X: Floats, q: Floats) -> Floats:
        """(class but the base, row, q) of the latents with their nugget."""
        return np.array([predictor.quantiles(X, q) for predictor in self._latents()])

    def thinned(self, n: int) -> ClassPredictor:
        """The same from n draws, evenly spread over all chains."""
        return replace(self, layers=tuple(draws.take(draws.thinned(n)) for draws in self.layers))

    def sample_latents(self, X: Floats, draws: np.ndarray, rng: np.random.Generator) -> Floats:
        """(draw, class but the base, row): latents with their nugget, jointly over rows."""
        return np.stack([predictor.sample_y(X, draws, rng) for predictor in self._latents()], axis=1)

    def _latents(self) -> list[Predictor]:
        return [Predictor(self.problem, draws, self.n_jobs) for draws in self.layers]

    def _by_task(
        self, X: Floats, reduce: Callable[[Floats], Floats], nodes_of: Callable[[slice], Floats]
    ) -> list[Floats]:
        """For each block of draws what `reduce` makes of (2, draw, row, class), probabilities and votes."""
        x, codes = self.problem.encoder.leaf_inputs(X), self.problem.encoder.codes(X)
        arrays = [draws.arrays for draws in self.layers]

        def task(block: slice) -> Floats:
            core = self.problem.core
            return reduce(_core.class_shares(core, arrays, block.start, block.stop, x, codes, nodes_of(block)))

        tasks = map(delayed(task), blocks(len(self.layers[0]), DRAWS_A_TASK))
        with sampler_errors("Predictions cannot be made"):
            shares: list[Floats] = Parallel(n_jobs=self.n_jobs, backend="threading")(tasks)
        return shares

    def _nodes_of(self, block: slice) -> Floats:
        """Those of a task: each takes the next ones, so that their errors average out over the draws."""
        tasks = -(-len(self.layers[0]) // DRAWS_A_TASK)
        fewest, most = NODES_A_DRAW
        count = most
        while count > fewest and count * tasks > N_NODES:
            count //= 2
        first = block.start // DRAWS_A_TASK * count % N_NODES
        return self._nodes[first : first + count]

    @cached_property
    def _nodes(self) -> Floats:
        """(node, class but the base): the same normal nodes for every row, so that a row's probabilities do not depend
        on the rows asked with it."""
        latents = self.problem.n_classes - 1
        if latents == 1 or not self.problem.n_latents:  # an integral over one latent needs none, class counts neither
            return np.empty((1, latents))
        points = qmc.Sobol(latents, scramble=True, seed=0).random(N_NODES)
        return np.ascontiguousarray(ndtri(np.clip(points, 1e-12, 1 - 1e-12)))
