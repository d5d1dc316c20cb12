"""BART by stochtree, where it is installed: warm-started chains, as many and as long as ours."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier

NOT_INSTALLED = "stochtree is not installed: no BART (python tools/install_dependencies.py bench)"
LENGTH: dict[str, Any] = {"num_gfr": 10, "num_mcmc": 1000}  # the former are its greedy warm start
CHAINS = 4


def has_bart() -> bool:
    return find_spec("stochtree") is not None


def _settings(trees: int, seed: int) -> dict[str, Any]:
    general = {"random_seed": seed, "num_chains": CHAINS}
    return LENGTH | {"general_params": general, "mean_forest_params": {"num_trees": trees}}


def regressor(trees: int, seed: int) -> Any:
    from stochtree import StochTreeBARTRegressor

    return StochTreeBARTRegressor(**_settings(trees, seed))


def interval(model: Any, X: np.ndarray, level: float) -> np.ndarray:
    """(row, 2) of the surface."""
    draws = model.model_.predict(X, type="posterior", terms="y_hat")  # (row, draw)
    return np.transpose(np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=1))


def classifier(trees: int, seed: int) -> Any:
    """Probit: for more than two classes one against the rest."""
    from stochtree import StochTreeBARTBinaryClassifier

    class MeanProbability(StochTreeBARTBinaryClassifier):  # type: ignore[misc]
        """The mean of the probabilities; stochtree's own method takes the probability of the mean latent."""

        def predict_proba(self, X: Any) -> np.ndarray:
            rows = np.asarray(X, dtype=float)
            one = self.model_.predict(rows, type="mean", terms="y_hat", scale="probability")
            return np.column_stack([1 - one, one])

    return OneVsRestClassifier(MeanProbability(**_settings(trees, seed)))
