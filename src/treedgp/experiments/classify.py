"""The paper's classifiers, under its priors and under ours, and what is asked of a fitted one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from treedgp.estimators.presets import preset
from treedgp.experiments.job import Arrays, RunLength

MODELS = {
    "cgp": "CGP, paper's priors",
    "ctgp": "CTGP, paper's priors",
    "cgp_ours": "CGP, our defaults",
    "ctgp_ours": "CTGP, our defaults",
}
SCORES = ("error", "log_loss", "brier", "cpu")


def make(name: str, length: RunLength, seed: int, **options: Any) -> Any:
    """A row of `MODELS`, unfitted."""
    kind, _, ours = name.partition("_")
    options |= {"random_state": seed, "progressbar": False} | length.arguments()
    paper: Any = preset(kind, **options)
    return type(paper)(tree=paper.tree, **options) if ours else paper


def fit_and_score(model: Any, X: Any, y: np.ndarray, new_X: Any, new_y: np.ndarray) -> dict[str, float]:
    """Error in per cent, log loss, Brier score and CPU seconds of fit and prediction."""
    began = time.process_time()
    proba = model.fit(X, y).predict_proba(new_X)
    cpu = time.process_time() - began
    return score(np.asarray(model.classes_), proba, new_y) | {"cpu": cpu}


def score(classes: np.ndarray, proba: np.ndarray, new_y: np.ndarray) -> dict[str, float]:
    """Of probabilities (row, class) at rows with labels `new_y`."""
    hits = new_y[:, np.newaxis] == classes
    return {
        "error": 100 * float(np.mean(classes[proba.argmax(axis=1)] != new_y)),
        "log_loss": float(log_loss(new_y, proba, labels=classes)),
        # Half the sum over classes: with two classes it is the usual score of one of them.
        "brier": float(np.mean(np.sum((proba - hits) ** 2, axis=1)) / 2),
    }


def best_tree(model: Any, target: object, accept: Callable[[int], bool] = lambda height: True) -> Any:
    """The most probable tree among accepted heights; None if no draw had one."""
    trees = [tree for height, tree in model.posterior_.map_trees(target=target).items() if accept(height)]
    return max(trees, key=model.posterior_.tree_rank, default=None)


def tree_arrays(model: Any, target: object) -> Arrays:
    """MAP trees by height as text, and the share of draws that split on each column."""
    trees = model.posterior_.map_trees(target=target)
    shares = model.posterior_.split_frequencies(target=target)
    return {
        "trees": np.array([str(trees[height]) for height in sorted(trees)], dtype=str),
        "columns": np.array(shares.index, dtype=str),
        "shares": shares.to_numpy(dtype=float),
    }


def tree_block(text: str) -> str:
    return f"```\n{text}\n```"
