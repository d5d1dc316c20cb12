"""A fit in progress or done: what is sampled, from which data, and where the chains stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treedgp.model.data import Floats
from treedgp.model.problem import Problem
from treedgp.posterior.draws import Draws
from treedgp.posterior.posterior import N_PROBES, Posterior
from treedgp.posterior.predict import Predictor
from treedgp.sampling.chain import start_chain
from treedgp.sampling.progress import Progress
from treedgp.sampling.run import Run, run_chains


@dataclass(frozen=True, eq=False)
class Session:
    problem: Problem
    X: Floats  # (n, columns), as read
    y: Floats  # (n)
    seed: int
    run: Run

    @classmethod
    def start(cls, problem: Problem, X: Floats, y: Floats, seed: int, chains: int) -> Session:
        return cls(problem, X, y, seed, Run([start_chain(problem, seed, i) for i in range(chains)]))

    @property
    def n_draws(self) -> int:
        """Kept draws a chain, so far."""
        schedule = self.problem.spec.schedule
        return max(0, self.run.round - schedule.tune) // schedule.thin

    def sample(
        self, draws: int, n_jobs: int | None, progressbar: bool, after_chunk: Callable[[], None] = lambda: None
    ) -> None:
        """Rounds until each chain has `draws` draws; nothing to do if it has them."""
        schedule = self.problem.spec.schedule
        rounds = schedule.rounds(draws)
        with Progress(progressbar, rounds, schedule.tune) as progress:

            def report(run: Run) -> None:
                progress.report(run)
                after_chunk()

            run_chains(self.problem, self.run, tune=schedule.tune, rounds=rounds, n_jobs=n_jobs, report=report)

    def posterior(self, n_jobs: int | None) -> Posterior:
        by_response = np.argsort(self.y, kind="stable")
        probes = by_response[np.linspace(0, len(self.y) - 1, N_PROBES).astype(int)]
        return Posterior(
            Predictor(self.problem, Draws.join(self.run.draws), n_jobs),
            self.X[probes],
            self.run.counts.copy(),
            self.run.failed_factorisations,
            self.problem.spec.tree,
            {"sampling": self.run.seconds},
        )
