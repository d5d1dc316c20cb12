"""Priors as JSON and back; what comes back is checked."""

from __future__ import annotations

from dataclasses import fields
from numbers import Integral, Real
from typing import Any

from treedgp.errors import ConfigError, FormatError
from treedgp.model.priors import (
    LARGEST_COUNT,
    CoefficientPrior,
    LengthscalePrior,
    LimitingPrior,
    NoisePrior,
    NuggetPrior,
    Priors,
    TreePrior,
)
from treedgp.words import shown

PRIOR_CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (Priors, TreePrior, LengthscalePrior, NuggetPrior, NoisePrior, CoefficientPrior, LimitingPrior)
}

ADDED_LATER: dict[str, dict[str, Any]] = {"LengthscalePrior": {"alike": None}}  # older files lack them


def priors_to_json(priors: Priors) -> dict[str, Any]:
    """Class names and fields, as JSON."""
    return _prior_to_json(priors)


def priors_from_json(value: Any) -> Priors:
    """The inverse of `priors_to_json`; FormatError for anything else."""
    kind, settings = _opened(value)
    _require(kind is Priors, f"priors: expected an object of class Priors, got {kind.__name__}")
    priors: Priors = _built(kind, {name: _part_from_json(part) for name, part in settings.items()})
    return priors


def _prior_to_json(prior: Any) -> dict[str, Any]:
    name = type(prior).__name__
    _require(
        PRIOR_CLASSES.get(name) is type(prior),
        f"priors: only {', '.join(PRIOR_CLASSES)} can be saved, got {name}: use one of these",
    )
    return {"class": name, **{part.name: _setting_to_json(getattr(prior, part.name)) for part in fields(prior)}}


def _setting_to_json(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, tuple | list):
        return [_setting_to_json(v) for v in value]
    if isinstance(value, Integral) and abs(int(value)) <= LARGEST_COUNT:
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return _prior_to_json(value)


def _opened(value: Any) -> tuple[type, dict[str, Any]]:
    """Class and settings."""
    _require(isinstance(value, dict), f"priors: expected an object with a class, got {shown(value)}")
    name = value.get("class")
    _require(
        isinstance(name, str) and name in PRIOR_CLASSES,
        f"priors: expected one of the classes {', '.join(PRIOR_CLASSES)}, got {shown(name)}",
    )
    kind, settings = PRIOR_CLASSES[name], {key: v for key, v in value.items() if key != "class"}
    settings = ADDED_LATER.get(name, {}) | settings
    wrong = sorted({part.name for part in fields(kind)} ^ set(settings))
    _require(not wrong, f"priors: {name} lacks, or does not have, the setting(s) {shown(', '.join(wrong))}")
    return kind, settings


def _built(kind: type, settings: dict[str, Any]) -> Any:
    try:
        return kind(**settings)
    except ConfigError as error:
        raise FormatError(f"priors: {error}") from error


def _part_from_json(value: Any) -> Any:
    kind, settings = _opened(value)
    _require(kind is not Priors, "priors: expected parts of Priors, got Priors inside Priors")
    return _built(kind, {name: _setting_from_json(setting) for name, setting in settings.items()})


def _setting_from_json(value: Any) -> Any:
    if isinstance(value, list):
        usual = all(v is None or _is_usual(v) for v in value)
        _require(usual, "priors: expected a list of numbers of usual size")
        return tuple(value)
    allowed = value is None or isinstance(value, str) or _is_usual(value)
    _require(allowed, f"priors: expected a number of usual size, a text or null, got {shown(value)}")
    return value


def _is_usual(value: Any) -> bool:
    return type(value) is float or (type(value) is int and abs(value) <= LARGEST_COUNT)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise FormatError(message)
