"""Bayesian treed Gaussian processes."""

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from treedgp.errors import (
    ConfigError,
    ConvergenceWarning,
    DataError,
    FormatError,
    SamplerError,
    TreedGPError,
)
from treedgp.estimators.classifier import TreedGPClassifier
from treedgp.estimators.persistence import load, resume
from treedgp.estimators.presets import preset
from treedgp.estimators.regressor import TreedGPRegressor
from treedgp.model.priors import (
    CLASS_PRIORS,
    CoefficientPrior,
    LengthscalePrior,
    LimitingPrior,
    NoisePrior,
    NuggetPrior,
    Priors,
    TreePrior,
)

__version__ = "0.1.0"

__all__ = [
    "CLASS_PRIORS",
    "CoefficientPrior",
    "ConfigError",
    "ConvergenceWarning",
    "DataError",
    "FormatError",
    "LengthscalePrior",
    "LimitingPrior",
    "NoisePrior",
    "NuggetPrior",
    "Priors",
    "SamplerError",
    "TreePrior",
    "TreedGPClassifier",
    "TreedGPError",
    "TreedGPRegressor",
    "load",
    "preset",
    "resume",
]

if TYPE_CHECKING:
    from treedgp import datasets, design, experiments, plot  # noqa: F401
else:

    def __getattr__(name: str) -> ModuleType:
        """Parts that take time to import, when they are first used."""
        if name in ("datasets", "design", "experiments", "plot"):
            return import_module(f"treedgp.{name}")
        raise AttributeError(f"module 'treedgp' has no attribute {name!r}")
