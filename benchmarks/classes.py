"""Both latent samplers on the paper's two tasks: effective samples per CPU second; what the default classifier gets.

The data are those of the paper's experiments: the 2-d exponential classes on a maximum-entropy design of 400 points,
and UCI's credit approval. Where their files are not beside the repository, the design is made and credit is left out.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from report import machine, table, write
from sklearn.metrics import log_loss

from treedgp import TreedGPClassifier, design
from treedgp.datasets import make_exp2d_classes
from treedgp.experiments import peers
from treedgp.experiments.credit import FOLDS, load, split
from treedgp.experiments.exp2d import Design, load_design
from treedgp.posterior.classes import ClassPredictor
from treedgp.posterior.diagnostics import ess_bulk, rhat

SHARED = Path(__file__).parents[2] / "shared" / "data"
SEEDS = range(1, 6)
SETS = range(1, 4)  # of chains, of each sampler
DESIGNS = range(1, 9)


def exp2d(every: int = 1) -> Design:
    """Tested on every so many-th of the other points of the grid."""
    file = SHARED / "exp2d_train_dopt.csv"
    return load_design(file if file.exists() else None, every)


def credit() -> tuple[pd.DataFrame, np.ndarray] | None:
    file = SHARED / "crx.data"
    return load(file) if file.exists() else None


def fitted(X: Any, y: np.ndarray, **settings: Any) -> tuple[TreedGPClassifier, float]:
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the diagnostics say is in the table
        model = TreedGPClassifier(progressbar=False, **settings).fit(X, y)
    return model, time.process_time() - began


def each(row: Callable[..., dict[str, Any]], cases: Iterable[tuple[Any, ...]]) -> pd.DataFrame:
    """A row a case, as many at a time as there are cores."""
    return pd.DataFrame(Parallel(n_jobs=os.cpu_count())(delayed(row)(*case) for case in cases))


def with_mean(frame: pd.DataFrame) -> pd.DataFrame:
    """A last row of means; the first column is a name."""
    name, *rest = frame.columns
    return pd.concat([frame, pd.DataFrame([{name: "mean", **frame[rest].mean().round(4)}])])


def sampler_row(task: str, X: Any, y: np.ndarray, sampler: str, seed: int) -> dict[str, Any]:
    model, seconds = fitted(X, y, latent_sampler=sampler, random_state=seed, input_scaling="quantile")
    post = model.posterior_
    return {
        "task": task,
        "sampler": sampler,
        "CPU s": seconds,
        "ESS/s log posterior": ess_bulk(post.log_posterior) / seconds,
        "R-hat": rhat(post.log_posterior),
        "ESS/s p(class), median": np.median([ess_bulk(trace) for trace in post.probe_traces.values()]) / seconds,
        "R-hat, largest": max(rhat(trace) for trace in post.probe_traces.values()),
    }


def samplers_table(tasks: dict[str, tuple[Any, np.ndarray]]) -> pd.DataFrame:
    """Means over sets of chains."""
    cases = [
        (task, X, y, sampler, seed)
        for task, (X, y) in tasks.items()
        for sampler in ("metropolis", "polya_gamma")  # long ones first
        for seed in SETS
    ]
    means = each(sampler_row, cases).groupby(["task", "sampler"], as_index=False).mean()
    return means.round(3).round({"CPU s": 1})


def errors(labels: np.ndarray, p: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Error in per cent and log loss, rounded."""
    wrong = 100 * float((labels[p.argmax(axis=1)] != y).mean())
    return round(wrong, 2), round(log_loss(y, p, labels=labels), 4)


def probabilities(model: TreedGPClassifier, draws: int, X: np.ndarray) -> np.ndarray:
    """(row, class), from so many thinned draws."""
    predictor = model.posterior_.predictor
    assert isinstance(predictor, ClassPredictor)
    return predictor.thinned(draws).shares(X)[0]


def agreement(model: TreedGPClassifier) -> dict[str, float]:
    post = model.posterior_
    return {
        "R-hat log posterior": round(rhat(post.log_posterior), 3),
        "R-hat number of leaves": round(rhat(post.n_leaves.astype(float)), 3),
    }


def exp2d_row(task: Design, seed: int) -> dict[str, Any]:
    model, seconds = fitted(task.X.to_numpy(), task.y, random_state=seed)
    p = probabilities(model, 1000, task.test_X.to_numpy())
    error, loss = errors(model.classes_, p, task.test_y)
    return {
        "seed": seed,
        "error %": error,
        "log loss": loss,
        "CPU s, fit": round(seconds, 1),
        **agreement(model),
    }


def design_row(seed: int) -> dict[str, Any]:
    """Ours with and without trees, and scikit-learn's GP classifier (Laplace, separable ranges), on another
    maximum-entropy design."""
    grid = make_exp2d_classes(None)
    chosen = design.maximum_entropy(400, grid.X, random_state=seed)
    X, y = grid.X[chosen], grid.y[chosen]
    rest = np.setdiff1d(np.arange(len(grid.X)), chosen)
    treed, _ = fitted(X, y, random_state=seed)
    one_leaf, _ = fitted(X, y, random_state=seed, tree=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its likelihood wants an amplitude beyond its bounds
        gpc = peers.gpc(2, seed).fit(X, y)
    row: dict[str, Any] = {"design": seed}
    for name, p in {
        "": probabilities(treed, 500, grid.X[rest]),
        "no tree: ": probabilities(one_leaf, 500, grid.X[rest]),
        "GPC: ": gpc.predict_proba(grid.X[rest]),
    }.items():
        row[f"{name}error %"], row[f"{name}log loss"] = errors(treed.classes_, p, grid.y[rest])
    return {**row, **agreement(treed)}


def credit_row(X: pd.DataFrame, y: np.ndarray, fold: int) -> dict[str, Any]:
    train, test, filled = split(X, y, fold)
    model, seconds = fitted(filled.iloc[train], y[train], random_state=fold, input_scaling="quantile")
    error, loss = errors(model.classes_, model.predict_proba(filled.iloc[test]), y[test])
    return {
        "fold": fold,
        "error %": error,
        "log loss": loss,
        "A9 in draws": round(float(model.posterior_.split_frequencies()["A9"]), 3),
        "CPU s, fit": round(seconds, 1),
        **agreement(model),
    }


def main() -> None:
    task, data = exp2d(), credit()
    tasks: dict[str, tuple[Any, np.ndarray]] = {"exp2d classes, n = 400": (task.X, task.y)}
    parts = [
        "## 2-d exponential classes, tested on the other points of the grid",
        table(with_mean(each(exp2d_row, ((task, seed) for seed in SEEDS)))),
        "## The same on other designs of 400 points, without trees, and scikit-learn's GP classifier",
        table(with_mean(each(design_row, ((seed,) for seed in DESIGNS)))),
    ]
    if data is None:
        parts.append("Credit approval: its file is not here.")
    else:
        X, y = data
        tasks["credit, n = 690"] = (X.fillna(X.median(numeric_only=True)), y)
        folds = each(credit_row, ((X, y, fold) for fold in range(1, FOLDS + 1)))
        parts += ["## Credit approval, ten folds, every column as given", table(with_mean(folds))]
    write(
        "classes",
        "Classification: two samplers, two tasks",
        [
            machine("scikit-learn's GP classifier is the peer"),
            f"## Effective samples per CPU second, 4 chains, means of {len(SETS)} sets",
            "Where R-hat exceeds 1.1 the ESS is not to be relied on.",
            table(samplers_table(tasks)),
            *parts,
        ],
    )


if __name__ == "__main__":
    main()
