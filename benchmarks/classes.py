"""Both latent samplers on the paper's two tasks: effective samples per CPU second; what the default classifier gets.

The data are those of the paper's experiments: the 2-d exponential classes on a maximum-entropy design of 400 points,
and UCI's credit approval. Where their files are not beside the repository, the design is made and credit is left out.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from report import machine, table, write
from sklearn.metrics import log_loss

from treedgp import TreedGPClassifier
from treedgp.experiments.credit import FOLDS, load, split
from treedgp.experiments.exp2d import Design, load_design
from treedgp.posterior.diagnostics import ess_bulk, rhat

SHARED = Path(__file__).parents[2] / "shared" / "data"
SEEDS = range(1, 6)


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


def samplers(task: str, X: Any, y: np.ndarray) -> list[dict[str, Any]]:
    rows = []
    for sampler in ("polya_gamma", "metropolis"):
        model, seconds = fitted(X, y, latent_sampler=sampler, random_state=1, input_scaling="quantile")
        post = model.posterior_
        probes = [ess_bulk(trace) for trace in post.probe_traces.values()]
        rows.append(
            {
                "task": task,
                "sampler": sampler,
                "CPU s": round(seconds, 1),
                "ESS/s log posterior": ess_bulk(post.log_posterior) / seconds,
                "R-hat": rhat(post.log_posterior),
                "ESS/s p(class), median": np.median(probes) / seconds,
                "R-hat, largest": max(rhat(trace) for trace in post.probe_traces.values()),
            }
        )
    return rows


def exp2d_table() -> pd.DataFrame:
    design = exp2d()
    rows = []
    for seed in SEEDS:
        model, seconds = fitted(design.X.to_numpy(), design.y, random_state=seed)
        p = model.posterior_.predictor.thinned(1000).shares(design.test_X.to_numpy())[0]
        rows.append(
            {
                "seed": seed,
                "error %": round(100 * float((model.classes_[p.argmax(axis=1)] != design.test_y).mean()), 2),
                "log loss": round(log_loss(design.test_y, p), 4),
                "CPU s, fit": round(seconds, 1),
                "R-hat log posterior": round(rhat(model.posterior_.log_posterior), 3),
            }
        )
    frame = pd.DataFrame(rows)
    return pd.concat([frame, pd.DataFrame([{"seed": "mean", **frame.drop(columns="seed").mean().round(4)}])])


def credit_table(X: pd.DataFrame, y: np.ndarray) -> pd.DataFrame:
    rows = []
    for fold in range(1, FOLDS + 1):
        train, test, filled = split(X, y, fold)
        model, seconds = fitted(filled.iloc[train], y[train], random_state=fold, input_scaling="quantile")
        p = model.predict_proba(filled.iloc[test])
        rows.append(
            {
                "fold": fold,
                "error %": round(100 * float((model.classes_[p.argmax(axis=1)] != y[test]).mean()), 2),
                "log loss": round(log_loss(y[test], p, labels=model.classes_), 4),
                "A9 in draws": round(float(model.posterior_.split_frequencies()["A9"]), 3),
                "CPU s, fit": round(seconds, 1),
                "R-hat log posterior": round(rhat(model.posterior_.log_posterior), 3),
            }
        )
    frame = pd.DataFrame(rows)
    return pd.concat([frame, pd.DataFrame([{"fold": "mean", **frame.drop(columns="fold").mean().round(4)}])])


def main() -> None:
    design = exp2d()
    rows = samplers("exp2d classes, n = 400", design.X, design.y)
    parts = ["## 2-d exponential classes, tested on the other points of the grid", table(exp2d_table())]
    data = credit()
    if data is None:
        parts.append("Credit approval: its file is not here.")
    else:
        X, y = data
        rows += samplers("credit, n = 690", X.fillna(X.median(numeric_only=True)), y)
        parts += ["## Credit approval, ten folds, every column as given", table(credit_table(*data))]
    frame = pd.DataFrame(rows)
    ess = frame.round({"ESS/s log posterior": 3, "R-hat": 3, "ESS/s p(class), median": 3, "R-hat, largest": 3})
    write(
        "classes",
        "Classification: two samplers, two tasks",
        [
            machine("No peer"),
            "## Effective samples per CPU second, 4 chains (where R-hat exceeds 1.1 the ESS is not to be relied on)",
            table(ess),
            *parts,
        ],
    )


if __name__ == "__main__":
    main()
