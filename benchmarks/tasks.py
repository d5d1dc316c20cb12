"""The regression tasks, for both sides."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from treedgp import CoefficientPrior, Priors, datasets
from treedgp.model.data import InputEncoder
from treedgp.model.problem import Problem
from treedgp.model.spec import ModelSpec, Schedule
from treedgp.posterior.draws import Draws
from treedgp.posterior.predict import Predictor
from treedgp.sampling.chain import Chain, advance, start_chain

# tgp's work a round: one range proposal and half a nugget proposal a leaf, a tree move in every fourth round.
TGP_WORK = {"tree_moves": 0.25, "range_moves": 1.0, "nugget_moves": 0.5}
FLAT = Priors(coefficients=CoefficientPrior(kind="flat"))


@dataclass(frozen=True, eq=False)
class Task:
    name: str
    X: np.ndarray
    y: np.ndarray
    model: str  # of tgp
    categorical: frozenset[int] = frozenset()
    split: tuple[int, ...] | None = None  # None: every column
    tgp_inputs: np.ndarray | None = None  # where tgp needs another coding
    tgp_options: dict[str, Any] = field(default_factory=dict)

    def problem(self, priors: Priors, **schedule: float) -> Problem:
        columns = range(self.X.shape[1])
        leaf = tuple(i for i in columns if i not in self.categorical)
        encoder = InputEncoder.learn(
            self.X, [f"x{i}" for i in columns], set(self.categorical), self.split or tuple(columns), leaf
        )
        spec = ModelSpec(
            tree=self.model.startswith("bt"),
            limiting_linear=self.model.endswith("llm"),
            priors=priors,
            schedule=Schedule(**schedule),  # type: ignore[arg-type]
        )
        return Problem.make(spec, encoder, self.X, self.y)

    def probes(self) -> np.ndarray:
        """Five rows, spread over the data as they lie."""
        return np.take(self.X, np.linspace(0, len(self.X) - 1, 5).astype(int), axis=0)


def exp2d() -> Task:
    data = datasets.make_exp2d(80, random_state=1)
    return Task("exp2d btgp, n = 80", data.X, data.y, "btgp")


def motorcycle() -> Task:
    data = datasets.load_motorcycle()
    return Task("motorcycle btgp, n = 133", data.X, data.y, "btgp")


def friedman(seed: int = 1) -> Task:
    data = datasets.make_friedman_categorical(500, random_state=seed)
    bits = datasets.make_friedman_categorical(500, coding="bits3", random_state=seed)
    return Task(
        "categorical Friedman btgpllm, n = 500",
        data.X,
        data.y,
        "btgpllm",
        frozenset({10}),
        (10,),
        bits.X,
        {"basemax": 10, "splitmin": 11},
    )


def one_leaf(n: int, dims: int = 2) -> Task:
    rng = np.random.default_rng(n)
    X = rng.random((n, dims))
    y = np.sin(6 * X).sum(axis=1) + 0.1 * rng.normal(size=n)
    return Task(f"one GP leaf, n = {n}", X, y, "bgp")


def rounds_per_second(problem: Problem, chain: Chain, rounds: int) -> tuple[float, Chain]:
    """CPU seconds a round, single thread."""
    before = time.process_time()
    chunk = advance(problem, chain, chain.round + rounds)
    return (time.process_time() - before) / rounds, chunk.chain


def sample(
    task: Task,
    priors: Priors,
    chains: int,
    rounds: int,
    tune: int,
    seed: int = 1,
    prior_tree: bool = False,
    **schedule: Any,
) -> tuple[Draws, np.ndarray, float]:
    """Draws of all chains, E f at the probes (chain, draw, probe), CPU seconds of the sampling."""
    problem = task.problem(priors, tune=tune, **schedule)
    before = time.process_time()
    chunks = [advance(problem, start_chain(problem, seed, i, prior_tree), tune + rounds) for i in range(chains)]
    cpu = time.process_time() - before
    (draws,) = Draws.join([[chunk.draws] for chunk in chunks])
    means = draws.by_chain(Predictor(problem, draws).mean_by_draw(task.probes()))
    return draws, means, cpu
