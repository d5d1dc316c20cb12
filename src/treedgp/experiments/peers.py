"""The peers, all scikit-learn's: regressors, and classifiers with the paper's grids."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

RPART_CP = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
HIDDEN = (2, 5, 10)
DECAY = tuple(float(10**exponent) for exponent in (-3.0, -1.5, 0.0))


def peer_version() -> str:
    return f"scikit-learn={version('scikit-learn')}"


def gpr(columns: int, seed: int, restarts: int = 0) -> Any:
    """One length scale a column, and noise."""
    kernel = ConstantKernel() * RBF(np.ones(columns), (1e-2, 1e3)) + WhiteKernel()
    return GaussianProcessRegressor(kernel, normalize_y=True, n_restarts_optimizer=restarts, random_state=seed)


REGRESSORS: dict[str, Callable[[int], Any]] = {
    "gpr": lambda seed: gpr(13, seed),
    "hist_gb": lambda seed: HistGradientBoostingRegressor(random_state=seed),
    "forest": lambda seed: RandomForestRegressor(500, random_state=seed),
}


def rpart_like(y: np.ndarray, folds: int, seed: int) -> Any:
    """rpart's defaults with cp from the paper's grid, chosen by cross-validated error.

    rpart's cp is relative to the root's risk, scikit-learn's alpha is not: alpha = cp times the root's Gini impurity.
    """
    shares = np.unique(y, return_counts=True)[1] / len(y)
    gini = float(1 - np.sum(shares**2))
    tree = DecisionTreeClassifier(min_samples_split=20, min_samples_leaf=7, max_depth=30, random_state=seed)
    return _tuned(tree, {"ccp_alpha": [cp * gini for cp in RPART_CP]}, folds, seed)


def nnet_like(folds: int, seed: int) -> Any:
    """nnet: one logistic hidden layer, quasi-Newton, 100 iterations; size and decay from the paper's grid.

    nnet adds decay |w|^2 to the summed loss, scikit-learn alpha |w|^2 / 2: alpha = 2 decay.
    """
    net = MLPClassifier(activation="logistic", solver="lbfgs", max_iter=100, random_state=seed)
    grid: dict[str, list[Any]] = {
        "hidden_layer_sizes": [(size,) for size in HIDDEN],
        "alpha": [2 * decay for decay in DECAY],
    }
    return _tuned(net, grid, folds, seed)


def _tuned(model: Any, grid: dict[str, list[Any]], folds: int, seed: int) -> Any:
    return GridSearchCV(model, grid, cv=StratifiedKFold(folds, shuffle=True, random_state=seed))


def gpc(columns: int, seed: int) -> Any:
    """One length scale for `columns` = 1, else one each."""
    kernel = ConstantKernel() * RBF(np.ones(columns) if columns > 1 else 1.0, (1e-2, 1e3))
    return GaussianProcessClassifier(kernel, random_state=seed)


def forest(seed: int) -> Any:
    return RandomForestClassifier(500, random_state=seed)


def boosting(seed: int) -> Any:
    """Categorical where the data frame says so."""
    return HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=seed)


def logistic() -> Any:
    return LogisticRegression(max_iter=1000)
