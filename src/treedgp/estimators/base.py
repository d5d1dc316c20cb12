"""What the estimators share: fitting, extending, saving."""

from __future__ import annotations

import os
import time
import warnings
from abc import ABC, abstractmethod
from typing import Any, Self

from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import metadata_routing
from sklearn.utils.validation import check_is_fitted

from treedgp.errors import ArgumentError, frames_to_the_user
from treedgp.estimators import persistence
from treedgp.estimators.columns import chosen_columns
from treedgp.estimators.display import DisplayMixin
from treedgp.estimators.inputs import InputSchema, read_new
from treedgp.estimators.limits import check_memory, warn_of_a_large_region
from treedgp.estimators.session import Session
from treedgp.estimators.settings import check_positive_integer, check_run_settings, seed_from
from treedgp.model.data import Floats, InputEncoder
from treedgp.model.problem import Problem
from treedgp.model.spec import ModelSpec, Schedule
from treedgp.posterior import io
from treedgp.posterior.health import warn_once
from treedgp.sampling.progress import is_wanted


class TreedGPEstimator(DisplayMixin, ABC):
    """A regressor or classifier. Subclasses say what they are by `_spec` and how they read y by `_read`."""

    # An option of the run, not metadata to be routed.
    __metadata_request__fit = {"checkpoint": metadata_routing.UNUSED}  # noqa: RUF012

    def fit(
        self, X: ArrayLike, y: ArrayLike, *, checkpoint: str | os.PathLike[str] | None = None, **unknown: Any
    ) -> Self:
        """Sample the posterior given X (n, columns) and y (n).

        With `checkpoint`, the run is written to that file every few seconds; if the file exists and belongs to the
        same data and settings, the run continues from it, and keeps the draws it has if they are more than asked for.
        `treedgp.resume(path)` needs nothing but the file. Rows cannot be weighted.
        """
        _refuse(unknown)
        self._check_settings()
        if checkpoint is not None:
            io.check_path(checkpoint)
        before = dict(self.__dict__)
        try:
            session = self._open(X, y, checkpoint)
        except BaseException:
            self.__dict__ = before  # bad input loses nothing
            raise
        # A run that fails must not look like the one before.
        for learned in ("posterior_", "priors_", "classes_", "_session"):
            self.__dict__.pop(learned, None)
        return self._sample(session, self.draws, checkpoint)

    def extend(self, draws: int) -> Self:
        """Draw `draws` more from each chain; the same as having asked for them at first, bit for bit."""
        check_is_fitted(self)
        check_positive_integer("draws", draws)
        return self._sample(self._session.branch(), self._session.n_draws + draws)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, without pickle. The file contains the training data."""
        check_is_fitted(self)
        persistence.save(path, self, self._session)

    @abstractmethod
    def _spec(self) -> ModelSpec:
        """The model that the settings describe."""

    @abstractmethod
    def _read(self, X: ArrayLike, y: ArrayLike) -> tuple[InputSchema, Floats, Floats, NDArray[Any] | None]:
        """The schema, the inputs, the response or the index of each label, and the labels."""

    def _schedule(self) -> Schedule:
        return Schedule(tune=int(self.tune), thin=int(self.thin))

    def _open(self, X: ArrayLike, y: ArrayLike, checkpoint: str | os.PathLike[str] | None) -> Session:
        """The fit before its first round, or where an existing checkpoint left it."""
        schema, inputs, response, labels = self._read(X, y)
        n_classes = 0 if labels is None else len(labels)
        problem = Problem.make(self._spec(), self._encoder(schema, inputs), inputs, response, n_classes)
        n, latents = len(response), problem.n_latents
        check_memory(n, self.leaf, min(self.chains, effective_n_jobs(self.n_jobs)), latents)
        warn_of_a_large_region(n, self.leaf, latents)
        session = Session.start(problem, schema, inputs, response, labels, seed_from(self.random_state), self.chains)
        if checkpoint is None:
            return session
        if os.path.exists(checkpoint):
            session = persistence.reopen(checkpoint, self, session)
            session.require_same_isa()
        persistence.save(checkpoint, self, session)  # a path that cannot be written is better known now
        return session

    def _sample(self, session: Session, draws: int, checkpoint: str | os.PathLike[str] | None = None) -> Self:
        """Rounds until each chain has `draws` draws. Ctrl-C keeps the draws so far and goes on upwards."""
        file = None if checkpoint is None else persistence.Checkpoint(checkpoint, self, session)
        try:
            session.sample(
                int(draws), self.n_jobs, is_wanted(self.progressbar), file.after_chunk if file else lambda: None
            )
        finally:
            if session.n_draws > 0:
                self._keep(session)
            if file:
                file.write()
        began = time.perf_counter()
        warn_once(self.posterior_.health())
        self.posterior_.timings["diagnostics"] = time.perf_counter() - began
        return self

    def _keep(self, session: Session) -> None:
        self._session = session
        self.priors_ = session.problem.spec.priors
        self.posterior_ = session.posterior(self.n_jobs)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "posterior_")

    def _check_settings(self) -> None:
        for name in ("draws", "thin", "chains"):
            check_positive_integer(name, getattr(self, name))
        check_positive_integer("tune", self.tune, least=0)
        check_run_settings(self.n_jobs, self.progressbar)

    def _encoder(self, schema: InputSchema, X: Floats) -> InputEncoder:
        names, categorical = schema.names, schema.categorical
        numeric = [i for i in range(len(names)) if i not in categorical]
        if isinstance(self.split_features, str) and self.split_features == "categorical":
            split = list(categorical)
            if not split:
                warnings.warn(
                    "split_features='categorical', but no column is: the tree cannot split.",
                    stacklevel=frames_to_the_user(),
                )
        else:
            split = chosen_columns("split_features", self.split_features, list(range(len(names))), names)
        leaf = chosen_columns("leaf_features", self.leaf_features, numeric, names)
        if not leaf and self.leaf != "constant":
            warnings.warn("No numeric leaf column: every leaf is a constant.", stacklevel=frames_to_the_user())
        labels = {i: schema.labels(i) for i in categorical}
        return InputEncoder.learn(X, names, set(categorical), tuple(split), tuple(leaf), self.input_scaling, labels)

    def _new_rows(self, X: ArrayLike) -> Floats:
        check_is_fitted(self)
        return read_new(self, self._session.schema, X)


def _refuse(unknown: dict[str, Any]) -> None:
    """Arguments of fit that are none; named parameters would tell scikit-learn that they work."""
    if "sample_weight" in unknown:
        raise ArgumentError(
            "fit takes no sample_weight: in the model every row is one observation. Leave it out; a row that stands "
            "for several can be given several times, and rare classes need no weights, since predict_proba gives "
            "probabilities."
        )
    if unknown:
        raise ArgumentError(f"fit takes X, y and checkpoint, got {', '.join(unknown)}. Settings go to the constructor.")
