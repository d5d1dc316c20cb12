"""A fit in progress or done: what is sampled, from which data, and where the chains stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treedgp._core as _core
from treedgp.errors import ConfigError
from treedgp.estimators.inputs import InputSchema
from treedgp.estimators.labels import labels_to_json
from treedgp.model.data import Floats
from treedgp.model.problem import Problem
from treedgp.posterior.classes import ClassPredictor
from treedgp.posterior.diagnostics import rhat
from treedgp.posterior.draws import Draws
from treedgp.posterior.posterior import N_PROBES, Posterior
from treedgp.posterior.predict import Predictor
from treedgp.sampling.chain import start_chain
from treedgp.sampling.progress import Progress
from treedgp.sampling.run import Run, run_chains


def this_isa() -> str:
    """The instruction set of this process's kernel."""
    try:
        return _core.isa()
    except RuntimeError as error:  # TREEDGP_ISA names none of this machine's
        raise ConfigError(f"{error}. Change it before starting Python.") from None


@dataclass(frozen=True, eq=False)
class Session:
    """Everything that decides the draws, as resolved when the fit began; later changes of an estimator's parameters
    do not reach it."""

    problem: Problem
    schema: InputSchema
    X: Floats  # (n, columns), as read
    y: Floats  # (n); in classification the index of each row's label
    labels: NDArray[Any] | None  # the classes; None in regression
    seed: int
    isa: str  # of the kernel that drew so far
    run: Run

    @classmethod
    def start(
        cls,
        problem: Problem,
        schema: InputSchema,
        X: Floats,
        y: Floats,
        labels: NDArray[Any] | None,
        seed: int,
        chains: int,
    ) -> Session:
        isa = this_isa()
        run = Run.start(problem, [start_chain(problem, seed, i) for i in range(chains)])
        return cls(problem, schema, X, y, labels, seed, isa, run)

    def branch(self) -> Session:
        """The same, to be continued without touching this one."""
        return replace(self, run=self.run.copy())

    @property
    def n_draws(self) -> int:
        """Kept draws a chain, so far."""
        schedule = self.problem.spec.schedule
        return max(0, self.run.round - schedule.tune) // schedule.thin

    def description(self) -> dict[str, Any]:
        """What decides the draws besides data and seed, as JSON."""
        encoder = self.problem.encoder
        return {
            "spec": self.problem.spec.to_json(),
            "schema": self.schema.to_json(),
            "split": list(encoder.split),
            "leaf": list(encoder.leaf),
            "scaling": encoder.scaling,
            "chains": len(self.run.chains),
            "labels": labels_to_json(self.labels),
        }

    def require_same_isa(self) -> None:
        if self.isa != this_isa():
            raise ConfigError(
                f"The chains ran with the {self.isa} kernel, this process has {this_isa()}: the draws would not be "
                f"those of an uninterrupted run. Set TREEDGP_ISA={self.isa} before starting Python."
            )

    def sample(
        self, draws: int, n_jobs: int | None, progressbar: bool, after_chunk: Callable[[], None] = lambda: None
    ) -> None:
        """Rounds until each chain has `draws` draws; nothing to do if it has them."""
        self.require_same_isa()
        schedule = self.problem.spec.schedule
        rounds = schedule.rounds(draws)
        with Progress(progressbar, self.run, rounds, schedule.tune, rhat) as progress:

            def report(run: Run) -> None:
                progress.report(run)
                after_chunk()

            run_chains(self.problem, self.run, tune=schedule.tune, rounds=rounds, n_jobs=n_jobs, report=report)

    def posterior(self, n_jobs: int | None) -> Posterior:
        by_response = np.argsort(self.y, kind="stable")
        probes = by_response[np.linspace(0, len(self.y) - 1, N_PROBES).astype(int)]
        layers = Draws.join(self.run.draws)
        predictor = (
            Predictor(self.problem, layers[0], n_jobs)
            if self.labels is None
            else ClassPredictor(self.problem, layers, tuple(self.labels.tolist()), n_jobs)
        )
        return Posterior(
            predictor,
            self.X[probes],
            self.run.counts.copy(),
            self.run.failed_factorisations,
            self.problem.spec.tree,
            {"sampling": self.run.seconds},
        )
