"""The models of the Python comparison: ours, and the peers with settings that suit them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import bart
import numpy as np
from scipy.stats import norm
from sklearn.base import is_classifier
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from treedgp import TreedGPClassifier, TreedGPRegressor
from treedgp.experiments import peers

LEVEL = 0.9
RESTARTS = 4
FOLDS = 5
TREES = (200, 50)  # BART: its default, and what served better here
FOREST_GRID: dict[str, list[Any]] = {"max_features": ["sqrt", 0.6, None], "min_samples_leaf": [1, 5]}
BOOSTING_GRID: dict[str, list[Any]] = {
    "learning_rate": [0.03, 0.1],
    "max_iter": [100, 300],
    "max_leaf_nodes": [4, 8, 31],
    "min_samples_leaf": [5, 20],
}
FEW = 10  # columns that can have a length scale each in a GP classifier


@dataclass(frozen=True)
class Row:
    """A row of a table: a model, and the coding of categories that it gets."""

    name: str
    make: Callable[[int, int], Any]  # unfitted, for a number of columns and a seed
    coding: Literal["category", "bits"] = "bits"
    interval: Callable[[Any, np.ndarray], np.ndarray] | None = None  # (row, 2) of the surface, at LEVEL


def regressors(category: list[int]) -> list[Row]:
    """For data whose columns `category` hold levels."""
    rows = [
        _ours("treedgp, defaults", categorical_features=category),
        Row("scikit-learn GP", lambda columns, seed: peers.gpr(columns, seed), interval=_gp_interval),
        Row(
            f"scikit-learn GP, {RESTARTS} restarts",
            lambda columns, seed: peers.gpr(columns, seed, RESTARTS),
            interval=_gp_interval,
        ),
        Row("random forest", lambda _, seed: peers.REGRESSORS["forest"](seed)),
        Row("random forest, tuned", lambda _, seed: _tuned(peers.REGRESSORS["forest"](seed), FOREST_GRID, seed)),
        Row("boosting", lambda _, seed: _boosting(category, seed), "category"),
        Row("boosting, tuned", lambda _, seed: _tuned(_boosting(category, seed), BOOSTING_GRID, seed), "category"),
    ]
    if category:
        name = "treedgp, the tree splits on the category alone"
        rows.insert(1, _ours(name, categorical_features=category, split_features="categorical"))
    return rows + _barts(bart.regressor, lambda model, X: bart.interval(model, X, LEVEL))


def _ours(name: str, **settings: Any) -> Row:
    return Row(
        name,
        lambda _, seed: TreedGPRegressor(random_state=seed, progressbar=False, **settings),
        "category",
        lambda model, X: model.predict_interval(X, LEVEL, of="f"),
    )


def _boosting(category: list[int], seed: int) -> Any:
    return peers.REGRESSORS["hist_gb"](seed).set_params(categorical_features=category or None)


def _gp_interval(model: Any, X: np.ndarray) -> np.ndarray:
    model.kernel_ = model.kernel_.k1  # without the noise: its factorisation of the training rows stays
    mean, sd = model.predict(X, return_std=True)
    band: np.ndarray = mean[:, None] + norm.ppf([(1 - LEVEL) / 2, (1 + LEVEL) / 2]) * sd[:, None]
    return band


def _barts(make: Callable[[int, int], Any], interval: Callable[[Any, np.ndarray], np.ndarray] | None) -> list[Row]:
    if not bart.has_bart():
        return []

    def row(trees: int) -> Row:
        return Row(f"BART, {trees} trees", lambda _, seed: make(trees, seed), interval=interval)

    return list(map(row, TREES))


def _tuned(model: Any, grid: dict[str, list[Any]], seed: int) -> Any:
    folds, scoring = (StratifiedKFold, "neg_log_loss") if is_classifier(model) else (KFold, "neg_mean_squared_error")
    return GridSearchCV(model, grid, cv=folds(FOLDS, shuffle=True, random_state=seed), scoring=scoring)


def classifiers(**ours: Any) -> list[Row]:
    """`ours` are settings of ours that are not defaults."""

    def treed(_: int, seed: int) -> Any:
        return TreedGPClassifier(random_state=seed, progressbar=False, **ours)

    def gp(columns: int, seed: int) -> Any:
        return make_pipeline(StandardScaler(), peers.gpc(columns if columns <= FEW else 1, seed))

    named = ", ".join(f"{name}={value!r}" for name, value in ours.items())
    return [
        Row(f"treedgp, {named or 'defaults'}", treed, "category"),
        Row("scikit-learn GP", gp),
        Row("random forest", lambda _, seed: peers.forest(seed)),
        Row("random forest, tuned", lambda _, seed: _tuned(peers.forest(seed), FOREST_GRID, seed)),
        Row("boosting", lambda _, seed: peers.boosting(seed), "category"),
        Row("boosting, tuned", lambda _, seed: _tuned(peers.boosting(seed), BOOSTING_GRID, seed), "category"),
        Row("logistic regression", lambda *_: make_pipeline(StandardScaler(), peers.logistic())),
        *_barts(bart.classifier, None),
    ]
