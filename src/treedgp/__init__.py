"""Bayesian treed Gaussian processes."""

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
