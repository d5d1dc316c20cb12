"""Section 4.1, Figure 2: regression with a categorical input, nine treed models and three peers."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import treedgp
from treedgp.datasets import make_friedman_categorical
from treedgp.estimators.presets import preset
from treedgp.experiments.figures import new_figure
from treedgp.experiments.job import Experiment, Job, Outcome, Results, RunLength, Settings
from treedgp.experiments.markdown import number, seconds, table
from treedgp.experiments.peers import REGRESSORS, peer_version

N_TRAIN, N_TEST = 500, 1000
TEST_SEEDS = 1000  # added to a repetition's number
REALS, CATEGORY = list(range(10)), 10


@dataclass(frozen=True)
class Row:
    preset: str
    category_in_leaves: bool
    splits_on_reals: bool
    paper: tuple[float, float, float, float] | None  # 5%, median, mean, 95% of RMSE
    cost: float  # CPU seconds of 1000 rounds, roughly

    @property
    def coding(self) -> str:
        if self.preset == "bcart":
            return "category column, in the tree"
        return "category column, in the tree" + (
            " and, as three bits, in the leaves" if self.category_in_leaves else ""
        )

    def model(self, length: RunLength, seed: int) -> Any:
        return preset(
            self.preset,
            categorical_features=[CATEGORY],
            leaf_features=[*REALS, CATEGORY] if self.category_in_leaves else REALS,
            split_features=None if self.splits_on_reals else [CATEGORY],
            random_state=seed,
            progressbar=False,
            **length.arguments(),
        )


ROWS = {
    "bcart": Row("bcart", False, True, (2.52, 2.79, 2.83, 3.24), 0.7),
    "btlm": Row("btlm", True, True, (2.54, 2.69, 2.69, 2.86), 2.1),
    "btlm2": Row("btlm", False, True, (1.54, 1.68, 1.70, 1.82), 1.7),
    "btgp": Row("btgp", True, True, (0.93, 1.15, 1.15, 1.33), 7.0),
    "btgp2": Row("btgp", False, True, (0.41, 0.53, 0.66, 1.16), 1.9),
    "btgp3": Row("btgp", False, False, (0.40, 0.49, 0.56, 1.00), 1.0),
    "btgpllm": Row("btgpllm", True, True, None, 7.0),
    "btgp2llm": Row("btgpllm", False, True, None, 1.9),
    "btgp3llm": Row("btgpllm", False, False, None, 1.0),
}
PEER_CODING = {"gpr": "three bits", "hist_gb": "category column", "forest": "three bits"}
ORDER = dict.fromkeys([*ROWS, *REGRESSORS])


def length(settings: Settings) -> RunLength:
    chains = settings.chains or 1
    return RunLength(500, 250, 2, chains) if settings.quick else RunLength(2000, 500, 10, chains)


def jobs(settings: Settings) -> list[Job]:
    run_length = length(settings)
    ours, peers = f"{run_length} treedgp={treedgp.__version__}", peer_version()
    rounds = run_length.chains * (run_length.tune + run_length.draws * run_length.thin) / 1000
    made = []
    for repetition in range(1, (settings.repetitions or settings.pick(3, 100)) + 1):
        for name, row in ROWS.items():
            made.append(Job(name, repetition, ours, partial(fit_ours, name, repetition, run_length), row.cost * rounds))
        for name in REGRESSORS:
            made.append(Job(name, repetition, peers, partial(fit_peer, name, repetition), 1.0))
    return made


def fit_ours(name: str, repetition: int, run_length: RunLength) -> Outcome:
    return _score(ROWS[name].model(run_length, repetition), "category", repetition)


def fit_peer(name: str, repetition: int) -> Outcome:
    model = REGRESSORS[name](repetition)
    if name == "hist_gb":
        model.set_params(categorical_features=[CATEGORY])
        return _score(model, "category", repetition)
    return _score(model, "bits3", repetition)


def _score(model: Any, coding: Any, repetition: int) -> Outcome:
    train = make_friedman_categorical(N_TRAIN, coding, random_state=repetition)
    test = make_friedman_categorical(N_TEST, coding, random_state=TEST_SEEDS + repetition)
    began = time.process_time()
    mean = model.fit(train.X, train.y).predict(test.X)
    cpu = time.process_time() - began
    return Outcome({"rmse": float(np.sqrt(np.mean((mean - test.f) ** 2))), "cpu": cpu})


def report(results: Results, settings: Settings) -> list[str]:
    rows = []
    for name in results.models(ORDER):
        of = results.of(name)
        row = ROWS.get(name)
        low, median, high = np.quantile(of["rmse"], [0.05, 0.5, 0.95])
        paper = (None,) * 4 if row is None or row.paper is None else row.paper
        rows.append(
            [
                name,
                PEER_CODING[name] if row is None else row.coding,
                *(number(value) for value in paper),
                *(number(value) for value in (low, median, of["rmse"].mean(), high)),
                seconds(of["cpu"]),
                str(len(of)),
            ]
        )
    run_length = length(settings)
    quantiles = ("5%", "median", "mean", "95%")
    header = ["model", "coding of I", *(f"paper {q}" for q in quantiles), *quantiles, "CPU s", "repetitions"]
    return [
        "# Categorical Friedman data (Section 4.1, Figure 2)",
        f"RMSE against the noise-free mean at {N_TEST} new inputs, after training on {N_TRAIN} rows with noise of "
        "standard deviation 1; data and model are seeded by the repetition's number. Priors of R's tgp. "
        f"{run_length.chains} chain(s) of {run_length.tune} + {run_length.draws * run_length.thin} rounds, predictions "
        f"from {run_length.chains * run_length.draws} draws. The number after a name is the paper's: 2, the category "
        "stays out of the leaves; 3, besides, the tree splits on nothing else. llm: with jumps to the limiting linear "
        "model (the paper does not say which its btgp rows are). gpr (separable squared exponential), hist_gb and "
        "forest are scikit-learn's. CPU time is of fit and prediction.",
        table(header, rows),
    ]


def draw(results: Results, settings: Settings) -> dict[str, Any]:
    names = results.models(ORDER)
    figure, axes = new_figure(1, 1, width=3 + 0.7 * len(names), height=4)
    axis = axes[0, 0]
    axis.boxplot([results.of(name)["rmse"] for name in names], tick_labels=names)
    for place, name in enumerate(names, start=1):
        row = ROWS.get(name)
        if row is not None and row.paper is not None:
            low, _, mean, high = row.paper
            axis.plot([place + 0.35] * 2, [low, high], color="C3")
            axis.plot(place + 0.35, mean, "o", color="C3", label="paper: 5%, mean, 95%" if name == "bcart" else None)
    axis.set_ylabel("RMSE")
    axis.set_ylim(bottom=0)
    axis.tick_params(axis="x", rotation=30)
    if "bcart" in names:
        axis.legend()
    return {"friedman": figure}


EXPERIMENT = Experiment("friedman", ("rmse", "cpu"), jobs, report, draw)
