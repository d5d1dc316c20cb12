"""Which estimator a task is for, and what its predictions look like as a table."""

from __future__ import annotations

from typing import Any

import pandas as pd
from sklearn.base import is_classifier

import treedgp
from treedgp.cli.task import Task
from treedgp.errors import ConfigError
from treedgp.estimators.presets import CLASSIFICATION, REGRESSION


def task_of_preset(name: str | None) -> Task | None:
    if name in CLASSIFICATION:
        return Task.classification
    return Task.regression if name in REGRESSION else None


def make_model(task: Task, preset: str | None, settings: dict[str, Any]) -> Any:
    """An estimator; settings that are None are left to the preset or the defaults."""
    given = {name: value for name, value in settings.items() if value is not None}
    if preset is not None:
        model = treedgp.preset(preset, **given)
        if is_classifier(model) != (task is Task.classification):
            raise ConfigError(f"The preset {preset!r} is not for {task}. Change --preset, or --task.")
        return model
    return (treedgp.TreedGPClassifier if task is Task.classification else treedgp.TreedGPRegressor)(**given)


def predictions(model: Any, X: pd.DataFrame, level: float) -> pd.DataFrame:
    """Regression: mean, sd and the interval of a new observation. Classification: label and probabilities."""
    if is_classifier(model):
        shares = pd.DataFrame(model.predict_proba(X), columns=[f"p_{label}" for label in model.classes_])
        return pd.concat([pd.DataFrame({"label": model.predict(X)}), shares], axis=1)
    mean, sd = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X, level).T
    return pd.DataFrame({"mean": mean, "sd": sd, "lower": lower, "upper": upper})
