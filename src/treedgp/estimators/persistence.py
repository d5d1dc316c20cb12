"""Fitted models and checkpoints as files: one format, arrays and JSON, no pickle."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from treedgp.errors import ConfigError, FormatError, TreedGPError
from treedgp.estimators.rebuild import rebuild
from treedgp.estimators.session import Session, this_isa
from treedgp.model.priors import Priors
from treedgp.model.priors_json import priors_to_json
from treedgp.posterior import io
from treedgp.posterior.draws import Draws
from treedgp.sampling.chain import Arrays

if TYPE_CHECKING:
    from treedgp.estimators.base import TreedGPEstimator

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


def settings_to_json(estimator: TreedGPEstimator) -> dict[str, Any]:
    """Constructor arguments; of a generator of random numbers nothing."""
    return {name: _plain(name, value) for name, value in estimator.get_params().items()}


def digest(session: Session, seeded: bool) -> str:
    """Of everything that decides the draws; the seed counts only where the user gave one."""
    meta = {**session.description(), "seed": session.seed if seeded else None}
    return io.digest(meta, {"X": session.X, "y": session.y})


def save(path: str | os.PathLike[str], estimator: TreedGPEstimator, session: Session) -> None:
    """The file holds the training data, the settings, every draw, and where the chains stand."""
    run = session.run
    meta = {
        "kind": "regressor" if session.labels is None else "classifier",
        "params": settings_to_json(estimator),
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
        return rebuild(meta, arrays)
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
