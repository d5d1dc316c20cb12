"""Fitted models and checkpoints as files: one format, arrays and JSON, no pickle."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treedgp.errors import ConfigError, FormatError, TreedGPError
from treedgp.estimators.inputs import InputSchema
from treedgp.estimators.labels import labels_from_json
from treedgp.estimators.limits import check_memory
from treedgp.estimators.session import Session, this_isa
from treedgp.model.data import Floats, InputEncoder, NumericColumn
from treedgp.model.priors import Priors
from treedgp.model.priors_json import priors_from_json, priors_to_json
from treedgp.model.problem import Problem
from treedgp.model.spec import ModelSpec
from treedgp.posterior import io
from treedgp.posterior.check import check_draws, check_layers, check_state
from treedgp.posterior.draws import Draws
from treedgp.sampling.chain import Arrays, Chain
from treedgp.sampling.run import Run

if TYPE_CHECKING:
    from treedgp.estimators.base import TreedGPEstimator

ISA = re.compile("[a-z0-9]{1,20}")
CHECKPOINT_SECONDS = 5.0
CHECKPOINT_SHARE = 0.1  # of a run's time, at most, to write it


def _plain(name: str, value: Any) -> Any:
    """A constructor argument as JSON."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Priors):
        return priors_to_json(value)
    if name == "random_state":
        return None  # a generator has moved on; the seed it gave is stored
    if isinstance(value, Iterable):
        return [_plain(name, v) for v in value]
    raise ConfigError(f"{name}={value!r} cannot be saved: expected None, text, a number or a list of these.")


def digest(session: Session, seeded: bool) -> str:
    """Of everything that decides the draws; the seed counts only where the user gave one."""
    meta = {**session.description(), "seed": session.seed if seeded else None}
    return io.digest(meta, {"X": session.X, "y": session.y})


def save(path: str | os.PathLike[str], estimator: TreedGPEstimator, session: Session) -> None:
    """The file holds the training data, the settings, every draw, and where the chains stand."""
    run = session.run
    meta = {
        "kind": "regressor" if session.labels is None else "classifier",
        "params": {name: _plain(name, value) for name, value in estimator.get_params().items()},
        "has_feature_names": hasattr(estimator, "feature_names_in_"),
        **session.description(),
        "seed": session.seed,
        "isa": session.isa,
        "round": run.round,
        "failed_factorisations": run.failed_factorisations,
        "seconds": run.seconds,
    }
    arrays: Arrays = {"X": session.X, "y": session.y, "counts": run.counts}
    for layer, draws in enumerate(Draws.join(run.draws)):
        arrays |= {f"draws{layer}/{name}": values for name, values in draws.arrays.items()}
    for i, chain in enumerate(run.chains):
        for layer, state in enumerate(chain.state):
            arrays |= {f"chain{i}.{layer}/{name}": values for name, values in state.items()}
    io.write(path, meta, arrays)


def load(path: str | os.PathLike[str]) -> TreedGPEstimator:
    """A model as it was saved, or a checkpoint as far as it had come."""
    estimator, session = _read(path)
    if session.n_draws == 0:
        raise FormatError(
            f"{path} is a checkpoint of a run that was still tuning: expected draws. Go on with "
            f"treedgp.resume({str(path)!r}), or in a shell: treedgp resume {path}"
        )
    estimator._keep(session)
    return estimator


def resume(path: str | os.PathLike[str]) -> TreedGPEstimator:
    """Continues a checkpointed fit to its end; the draws are those of an uninterrupted run."""
    estimator, session = _read(path)
    session.require_same_isa()
    return estimator._sample(session, estimator.draws, path)


def reopen(path: str | os.PathLike[str], estimator: TreedGPEstimator, fresh: Session) -> Session:
    """The session of an existing checkpoint, if it belongs to the same data and settings."""
    _, session = _read(path)
    seeded = estimator.random_state is not None
    wanted, found = digest(fresh, seeded), digest(session, seeded)
    if wanted != found:
        raise ConfigError(
            f"The checkpoint {path} belongs to other data or settings: its digest is {found[:16]}, that of this fit "
            f"{wanted[:16]}. Give another path, or delete the file to start afresh."
        )
    return session


class Checkpoint:
    """Writes a session now and then, and at the end."""

    def __init__(self, path: str | os.PathLike[str], estimator: TreedGPEstimator, session: Session) -> None:
        self._path, self._estimator, self._session = path, estimator, session
        self._due = time.monotonic() + CHECKPOINT_SECONDS

    def after_chunk(self) -> None:
        if time.monotonic() >= self._due:
            self.write()

    def write(self) -> None:
        began = time.monotonic()
        save(self._path, self._estimator, self._session)
        ended = time.monotonic()
        self._due = ended + max(CHECKPOINT_SECONDS, (ended - began) / CHECKPOINT_SHARE)


def _read(path: str | os.PathLike[str]) -> tuple[TreedGPEstimator, Session]:
    """A fitted estimator without its posterior, and its session; FormatError for anything amiss."""
    this_isa()  # its own error
    meta, arrays = io.read(path)
    try:
        return _rebuild(meta, arrays)
    except (
        TreedGPError,
        KeyError,
        TypeError,
        ValueError,
        IndexError,
        AttributeError,
        OverflowError,
        MemoryError,
    ) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise FormatError(f"{path} is not a usable treedgp file: {reason}. Save the model again.") from error


def _rebuild(meta: dict[str, Any], arrays: Arrays) -> tuple[TreedGPEstimator, Session]:
    from treedgp.estimators.classifier import TreedGPClassifier
    from treedgp.estimators.regressor import TreedGPRegressor

    kinds: dict[Any, type[TreedGPEstimator]] = {"regressor": TreedGPRegressor, "classifier": TreedGPClassifier}
    if meta.get("kind") not in kinds:
        raise FormatError(f"expected a saved regressor or classifier, got {meta.get('kind')!r}")
    params = dict(meta["params"])
    params["priors"] = None if params["priors"] is None else priors_from_json(params["priors"])
    estimator = kinds[meta["kind"]](**params)
    estimator._check_settings()

    schema, spec = InputSchema.from_json(meta["schema"]), ModelSpec.from_json(meta["spec"])
    X, y = (np.ascontiguousarray(arrays[name], dtype=np.float64) for name in ("X", "y"))
    if X.ndim != 2 or X.shape[1] != len(schema.names) or y.shape != X.shape[:1] or not len(y):
        raise FormatError(f"expected X (n, {len(schema.names)}) and y (n), got shapes {X.shape} and {y.shape}")
    if not (np.isfinite(X).all() and np.isfinite(y).all()):
        raise FormatError("expected finite X and y")
    estimator.n_features_in_ = len(schema.names)
    if meta["has_feature_names"] is True:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    split, leaf = (_columns(meta, name, len(schema.names)) for name in ("split", "leaf"))
    levels = {i: schema.labels(i) for i in schema.categorical}
    encoder = InputEncoder.learn(X, schema.names, set(schema.categorical), split, leaf, meta["scaling"], levels)
    labels = labels_from_json(meta["labels"])
    _check_task(meta["kind"], spec, labels, y)
    problem = Problem.make(spec, encoder, X, y, 0 if labels is None else len(labels))
    check_memory(len(y), spec.leaf, 1, problem.n_latents)

    seed, round_ = _bounded(meta, "seed", 2**64 - 1), _bounded(meta, "round", 2**50)
    layers, chains = range(max(1, problem.n_latents)), range(_bounded(meta, "chains", 10_000))
    _check_names(arrays, {f"draws{layer}" for layer in layers} | {f"chain{i}.{j}" for i in chains for j in layers})
    states = [[_group(arrays, f"chain{i}.{layer}/") for layer in layers] for i in chains]
    q = problem.x.shape[1]
    sizes = [column.size for column in encoder.split_columns]
    categorical = [not isinstance(column, NumericColumn) for column in encoder.split_columns]
    model = (spec.n_ranges(q), spec.n_coefficients(q), sizes)
    n_latents = len(y) if problem.n_latents else None
    for state in states:
        for layer_state in state:
            if n_latents is not None:  # files written before chains had sites
                layer_state.setdefault("site", np.tile([1e-4, 0.0], (n_latents, 1)))
            check_state(layer_state, *model, categorical, n_latents)
    run = Run.start(problem, [Chain(seed, i, round_, state) for i, state in enumerate(states)])
    session = Session(problem, schema, X, y, labels, seed, _isa(meta), run)
    draws = [Draws(_group(arrays, f"draws{layer}/"), len(states)) for layer in layers]
    for of_layer in draws:
        check_draws(of_layer.arrays, *model, session.n_draws * len(states), categorical, n_latents)
    check_layers([of_layer.arrays for of_layer in draws], problem.shares_tree)
    run.draws = [[[of_layer.chain(i) for of_layer in draws]] for i in range(len(states))]
    counts = arrays["counts"]
    if counts.shape != run.counts.shape or counts.dtype != np.int64 or (counts < 0).any():
        raise FormatError(f"expected counts of shape {run.counts.shape}, integers that are not negative")
    run.counts = counts
    run.failed_factorisations = _bounded(meta, "failed_factorisations", 2**60)
    run.seconds = float(meta["seconds"])
    return estimator, session


def _check_task(kind: str, spec: ModelSpec, labels: NDArray[Any] | None, y: Floats) -> None:
    is_classifier = kind == "classifier"
    if is_classifier != (spec.classes is not None) or is_classifier != (labels is not None):
        raise FormatError(f"expected labels in a classifier and only there, got a {kind}")
    if labels is not None and not np.array_equal(np.unique(y), np.arange(len(labels))):
        raise FormatError(f"expected y to index the {len(labels)} labels, each at least once")


def _check_names(arrays: Arrays, groups: set[str]) -> None:
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
