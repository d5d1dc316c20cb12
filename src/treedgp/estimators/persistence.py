"""Fitted models and checkpoints as files: one format, arrays and JSON, no pickle."""

from __future__ import annotations

import os
import time
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import treedgp._core as _core
from treedgp.errors import ConfigError, FormatError, TreedGPError
from treedgp.estimators.inputs import InputSchema
from treedgp.estimators.session import Session
from treedgp.model.data import NumericColumn
from treedgp.model.priors_json import priors_from_json, priors_to_json
from treedgp.model.problem import Problem
from treedgp.posterior import io
from treedgp.posterior.check import check_draws, check_state
from treedgp.posterior.draws import Draws
from treedgp.sampling.chain import Arrays, Chain, advance
from treedgp.sampling.run import Run

if TYPE_CHECKING:
    from treedgp.estimators.regressor import TreedGPRegressor

CHECKPOINT_SECONDS = 5.0
NOT_PART_OF_THE_DRAWS = ("draws", "n_jobs", "progressbar")  # a longer or more parallel run has the same draws


def _plain(value: Any) -> Any:
    """A constructor argument as JSON."""
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return value if value is None or isinstance(value, str) else None


def _settings(estimator: TreedGPRegressor) -> dict[str, Any]:
    params = {name: _plain(value) for name, value in estimator.get_params().items() if name != "priors"}
    return {**params, "priors": None if estimator.priors is None else priors_to_json(estimator.priors)}


def digest(estimator: TreedGPRegressor, session: Session) -> str:
    """Of everything that decides the draws but the seed of an unseeded run."""
    settings = {k: v for k, v in _settings(estimator).items() if k not in NOT_PART_OF_THE_DRAWS}
    meta = {"settings": settings, "schema": estimator._schema.to_json()}
    return io.digest(meta, {"X": session.X, "y": session.y})


def save(path: str | os.PathLike[str], estimator: TreedGPRegressor, session: Session) -> None:
    """The file holds the training data, the settings, every draw, and where the chains stand."""
    run = session.run
    draws = Draws.join(run.draws)
    meta = {
        "kind": "regressor",
        "settings": _settings(estimator),
        "schema": estimator._schema.to_json(),
        "digest": digest(estimator, session),
        "seed": session.seed,
        "chains": len(run.chains),
        "round": run.round,
        "failed_factorisations": run.failed_factorisations,
        "seconds": run.seconds,
    }
    arrays: Arrays = {"X": session.X, "y": session.y, "counts": run.counts}
    arrays |= {f"draws/{name}": values for name, values in draws.arrays.items()}
    for i, chain in enumerate(run.chains):
        arrays |= {f"chain{i}/{name}": values for name, values in chain.state.items()}
    io.write(Path(path), meta, arrays)


def load(path: str | os.PathLike[str]) -> TreedGPRegressor:
    """A model as it was saved, or a checkpoint as far as it had come."""
    estimator, session = _read(Path(path))
    if session.n_draws == 0:
        raise FormatError(
            f"{path} is a checkpoint of a run that was still tuning. Go on with treedgp.resume({str(path)!r})."
        )
    estimator._keep(session)
    return estimator


def resume(path: str | os.PathLike[str]) -> TreedGPRegressor:
    """Continues a checkpointed fit to its end; the draws are those of an uninterrupted run."""
    estimator, session = _read(Path(path))
    _require_same_isa(Path(path))
    return estimator._sample(session, estimator.draws, path)


def reopen(path: str | os.PathLike[str], estimator: TreedGPRegressor, fresh: Session) -> Session:
    """The session of an existing checkpoint, if it belongs to the same data and settings."""
    stored, session = _read(Path(path))
    wanted, found = digest(estimator, fresh), digest(stored, session)
    if wanted != found:
        raise ConfigError(
            f"The checkpoint {path} belongs to other data or settings: its digest is {found[:16]}, that of this fit "
            f"{wanted[:16]}. Give another path, or delete the file to start afresh."
        )
    _require_same_isa(Path(path))
    return session


class Checkpoint:
    """Writes a session now and then, and at the end."""

    def __init__(self, path: str | os.PathLike[str], estimator: TreedGPRegressor, session: Session) -> None:
        self._path, self._estimator, self._session = path, estimator, session
        self._last = time.monotonic()

    def after_chunk(self) -> None:
        if time.monotonic() - self._last >= CHECKPOINT_SECONDS:
            self.write()

    def write(self) -> None:
        save(self._path, self._estimator, self._session)
        self._last = time.monotonic()


def _require_same_isa(path: Path) -> None:
    written = io.read(path)[0]["isa"]
    if written != _core.isa():
        raise ConfigError(
            f"{path} was written with the {written} kernel, this process runs {_core.isa()}: the draws would not be "
            f"those of an uninterrupted run. Set TREEDGP_ISA={written} before starting Python."
        )


def _read(path: Path) -> tuple[TreedGPRegressor, Session]:
    """A fitted estimator without its posterior, and its session; FormatError for anything amiss."""
    meta, arrays = io.read(path)
    try:
        return _rebuild(meta, arrays)
    except (TreedGPError, KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise FormatError(f"{path} is not a usable treedgp file: {error}. Save the model again.") from error


def _rebuild(meta: dict[str, Any], arrays: Arrays) -> tuple[TreedGPRegressor, Session]:
    from treedgp.estimators.regressor import TreedGPRegressor

    if meta.get("kind") != "regressor":
        raise FormatError(f"expected a saved regressor, got {meta.get('kind')!r}")
    settings = dict(meta["settings"])
    settings["priors"] = None if settings["priors"] is None else priors_from_json(settings["priors"])
    estimator = TreedGPRegressor(**settings)
    schema = InputSchema.from_json(meta["schema"])
    X, y = (np.ascontiguousarray(arrays[name], dtype=np.float64) for name in ("X", "y"))
    estimator._remember(schema)
    estimator.n_features_in_ = len(schema.names)
    if schema.is_frame:
        estimator.feature_names_in_ = np.array(schema.names, dtype=object)
    problem = Problem.make(estimator._spec(), estimator._encoder(schema, X), X, y)
    states = [_group(arrays, f"chain{i}/") for i in range(_bounded(meta, "chains", 10_000))]
    seed, round_ = _bounded(meta, "seed", 2**64 - 1), _bounded(meta, "round", 2**50)
    chains = [Chain(seed, i, round_, state) for i, state in enumerate(states)]
    run = Run(chains)
    session = Session(problem, X, y, seed, run)
    draws = Draws(_group(arrays, "draws/"), len(chains))
    q = problem.x.shape[1]
    spec = problem.spec
    sizes = [column.size for column in problem.encoder.split_columns]
    categorical = [not isinstance(column, NumericColumn) for column in problem.encoder.split_columns]
    model = (spec.n_ranges(q), spec.n_coefficients(q), sizes)
    check_draws(draws.arrays, *model, session.n_draws * len(chains), categorical)
    for chain in chains:
        check_state(chain.state, *model, categorical)
        advance(problem, chain, chain.round)  # no round: the core's own check
    run.draws = [[draws.chain(i)] for i in range(len(chains))]
    if arrays["counts"].shape != run.counts.shape:
        raise FormatError(f"expected counts of shape {run.counts.shape}, got {arrays['counts'].shape}")
    run.counts = arrays["counts"].astype(np.int64)
    run.failed_factorisations = int(meta["failed_factorisations"])
    run.seconds = float(meta["seconds"])
    return estimator, session


def _bounded(meta: dict[str, Any], name: str, most: int) -> int:
    value = meta[name]
    if type(value) is not int or not 0 <= value <= most:
        raise FormatError(f"{name} must be an integer from 0 to {most}, got {value!r}")
    return value


def _group(arrays: Arrays, prefix: str) -> Arrays:
    return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}
