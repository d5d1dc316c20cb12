"""A model from what a file holds; nothing in it is trusted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treedgp.errors import FormatError
from treedgp.estimators.inputs import InputSchema
from treedgp.estimators.labels import labels_from_json
from treedgp.estimators.limits import check_memory
from treedgp.estimators.session import Session
from treedgp.model.data import Floats, InputEncoder, NumericColumn
from treedgp.model.priors_json import priors_from_json
from treedgp.model.problem import Problem
from treedgp.model.spec import ModelSpec
from treedgp.posterior.check import check_draws, check_layers, check_state
from treedgp.posterior.draws import Draws
from treedgp.sampling.chain import Arrays, Chain
from treedgp.sampling.run import Run

if TYPE_CHECKING:
    from treedgp.estimators.base import TreedGPEstimator

ISA = re.compile("[a-z0-9]{1,20}")


def rebuild(meta: dict[str, Any], arrays: Arrays) -> tuple[TreedGPEstimator, Session]:
    """A fitted estimator without its posterior, and its session. Raises whatever it meets."""
    schema = InputSchema.from_json(meta["schema"])
    estimator = _estimator(meta, schema)
    X, y = _data(arrays, len(schema.names))
    labels = labels_from_json(meta["labels"])
    problem = _problem(meta, schema, X, y, labels)
    seed, chains = _bounded(meta, "seed", 2**64 - 1), _bounded(meta, "chains", 10_000)
    form = _Form.of(problem)
    _check_names(arrays, form.layers, chains)
    states = [_state(arrays, form, i) for i in range(chains)]
    round_ = _bounded(meta, "round", 2**50)
    run = Run.start(problem, [Chain(seed, i, round_, state) for i, state in enumerate(states)])
    session = Session(problem, schema, X, y, labels, seed, _isa(meta), run)
    run.draws = _draws(arrays, form, chains, session.n_draws)
    run.counts = _counts(arrays, run.counts)
    run.failed_factorisations = _bounded(meta, "failed_factorisations", 2**60)
    run.seconds = float(meta["seconds"])
    return estimator, session


def _estimator(meta: dict[str, Any], schema: InputSchema) -> TreedGPEstimator:
    from treedgp.estimators.classifier import TreedGPClassifier
    from treedgp.estimators.regressor import TreedGPRegressor

    kinds: dict[Any, type[TreedGPEstimator]] = {"regressor": TreedGPRegressor, "classifier": TreedGPClassifier}
    if meta.get("kind") not in kinds:
        raise FormatError(f"expected a saved regressor or classifier, got {meta.get('kind')!r}")
    params = dict(meta["params"])
    params["priors"] = None if params["priors"] is None else priors_from_json(params["priors"])
    estimator = kinds[meta["kind"]](**params)
    estimator._check_settings()
    estimator.n_features_in_ = len(schema.names)
    if meta["has_feature_names"] is True:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    return estimator


def _data(arrays: Arrays, n_columns: int) -> tuple[Floats, Floats]:
    X, y = (np.ascontiguousarray(arrays[name], dtype=np.float64) for name in ("X", "y"))
    if X.ndim != 2 or X.shape[1] != n_columns or y.shape != X.shape[:1] or not len(y):
        raise FormatError(f"expected X (n, {n_columns}) and y (n), got shapes {X.shape} and {y.shape}")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise FormatError("expected finite X and y")
    return X, y


def _problem(meta: dict[str, Any], schema: InputSchema, X: Floats, y: Floats, labels: NDArray[Any] | None) -> Problem:
    spec = ModelSpec.from_json(meta["spec"])
    split, leaf = (_columns(meta, name, len(schema.names)) for name in ("split", "leaf"))
    levels = {i: schema.labels(i) for i in schema.categorical}
    encoder = InputEncoder.learn(X, schema.names, set(schema.categorical), split, leaf, meta["scaling"], levels)
    _check_task(meta["kind"], spec, labels, y)
    problem = Problem.make(spec, encoder, X, y, 0 if labels is None else len(labels))
    check_memory(len(y), spec.leaf, 1, problem.n_latents)
    return problem


@dataclass(frozen=True)
class _Form:
    """What the arrays of draws and states of a problem must be like."""

    layers: int
    shared_tree: bool
    model: tuple[int, int, list[int]]  # ranges, coefficients, sizes of the columns that trees split on
    categorical: list[bool]
    n_latents: int | None  # rows of a layer's latent

    @classmethod
    def of(cls, problem: Problem) -> _Form:
        spec, columns, q = problem.spec, problem.encoder.split_columns, problem.x.shape[1]
        return cls(
            max(1, problem.n_latents),
            problem.shares_tree,
            (spec.n_ranges(q), spec.n_coefficients(q), [column.size for column in columns]),
            [not isinstance(column, NumericColumn) for column in columns],
            len(problem.x) if problem.n_latents else None,
        )


def _state(arrays: Arrays, form: _Form, chain: int) -> list[Arrays]:
    state = [_group(arrays, f"chain{chain}.{layer}/") for layer in range(form.layers)]
    for of_layer in state:
        if form.n_latents is not None:  # files written before chains had sites
            of_layer.setdefault("site", np.tile([1e-4, 0.0], (form.n_latents, 1)))
        check_state(of_layer, *form.model, form.categorical, form.n_latents)
    return state


def _draws(arrays: Arrays, form: _Form, chains: int, n_draws: int) -> list[list[list[Arrays]]]:
    """By chain, in one chunk, by layer."""
    layers = [Draws(_group(arrays, f"draws{layer}/"), chains) for layer in range(form.layers)]
    for of_layer in layers:
        check_draws(of_layer.arrays, *form.model, n_draws * chains, form.categorical, form.n_latents)
    check_layers([of_layer.arrays for of_layer in layers], form.shared_tree)
    return [[[of_layer.chain(i) for of_layer in layers]] for i in range(chains)]


def _counts(arrays: Arrays, like: NDArray[np.int64]) -> NDArray[np.int64]:
    counts = arrays["counts"]
    if counts.shape != like.shape or counts.dtype != np.int64 or (counts < 0).any():
        raise FormatError(f"expected counts of shape {like.shape}, integers that are not negative")
    return counts


def _check_task(kind: str, spec: ModelSpec, labels: NDArray[Any] | None, y: Floats) -> None:
    is_classifier = kind == "classifier"
    if is_classifier != (spec.classes is not None) or is_classifier != (labels is not None):
        raise FormatError(f"expected labels in a classifier and only there, got a {kind}")
    if labels is not None and not np.array_equal(np.unique(y), np.arange(len(labels))):
        raise FormatError(f"expected y to index the {len(labels)} labels, each at least once")


def _check_names(arrays: Arrays, layers: int, chains: int) -> None:
    groups = {f"draws{layer}" for layer in range(layers)}
    groups |= {f"chain{i}.{layer}" for i in range(chains) for layer in range(layers)}
    extra = [n for n in arrays if n not in ("X", "y", "counts") and n.partition("/")[0] not in groups]
    if extra:
        raise FormatError(f"expected no array {extra[0]!r} in a model of these classes and chains")


def _bounded(meta: dict[str, Any], name: str, most: int) -> int:
    value = meta[name]
    if type(value) is not int or not 0 <= value <= most:
        raise FormatError(f"{name} must be an integer from 0 to {most}, got {value!r}")
    return value


def _isa(meta: dict[str, Any]) -> str:
    value = meta["isa"]
    if not (isinstance(value, str) and ISA.fullmatch(value)):
        raise FormatError(f"isa must name an instruction set, got {value!r:.60}")
    return value


def _columns(meta: dict[str, Any], name: str, n_columns: int) -> tuple[int, ...]:
    """Indices of columns, in order."""
    value = meta[name]
    whole = isinstance(value, list) and all(type(i) is int and 0 <= i < n_columns for i in value)
    if not whole or value != sorted(set(value)):
        raise FormatError(f"{name} must list columns in order, each at most once, from 0 to {n_columns - 1}")
    return tuple(value)


def _group(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
