"""Treed Gaussian process regression."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from treedgp.errors import ConfigError
from treedgp.estimators.columns import categorical_columns, chosen_columns
from treedgp.estimators.settings import (
    check_levels,
    check_of,
    check_positive_integer,
    check_run_settings,
    check_share,
    seed_from,
)
from treedgp.model.data import Floats, InputEncoder
from treedgp.model.priors import Priors
from treedgp.model.problem import Problem
from treedgp.model.spec import ModelSpec, Schedule
from treedgp.posterior.draws import Draws
from treedgp.posterior.health import warn_once
from treedgp.posterior.posterior import N_PROBES, Posterior
from treedgp.posterior.predict import Predictor
from treedgp.sampling.chain import start_chain
from treedgp.sampling.progress import Progress, is_wanted
from treedgp.sampling.run import Run, run_chains


class TreedGPRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Bayesian treed Gaussian process regression.

    A random tree cuts the input space into regions; in each a Gaussian process, a linear model or a constant is
    fitted. Everything, the tree included, is sampled from its posterior and averaged over.

    Parameters
    ----------
    leaf : {"gp", "linear", "constant"}
        The model of a region.
    tree : bool
        False: a single region.
    limiting_linear : bool
        Lets a GP leaf jump to its limiting linear model, input by input (only with leaf="gp").
    mean : {"linear", "constant"}
        Mean function of a GP leaf.
    kernel : {"gaussian", "matern12", "matern32", "matern52"}
        Correlation of a GP leaf.
    isotropic : bool
        One length scale for all inputs instead of one each.
    categorical_features : "from_dtype", None, mask or list of int
        Columns whose values are levels without order. "from_dtype" and None mean none for numeric arrays.
    split_features : None, list of int, or "categorical"
        Columns the tree may split on; None: all.
    leaf_features : None or list of int
        Columns the leaves see; None: every numeric column. A categorical column enters only if listed, as 0/1
        columns with the first level dropped.
    priors : Priors, optional
        None: the documented defaults.
    draws, tune, thin, chains : int
        A chain makes tune + draws * thin rounds and keeps `draws` states.
    n_jobs : int, optional
        Chains run side by side in threads; None is 1 unless joblib is configured otherwise.
    random_state : int, RandomState or None
        Fixes every draw, whatever n_jobs.
    progressbar : bool or "auto"
        "auto": in a terminal or notebook, for fits over two seconds.

    Attributes
    ----------
    posterior_ : Posterior
        Draws and diagnostics.
    priors_ : Priors
        The priors used.
    n_features_in_ : int
    """

    def __init__(
        self,
        *,
        leaf: str = "gp",
        tree: bool = True,
        limiting_linear: bool = True,
        mean: str = "linear",
        kernel: str = "gaussian",
        isotropic: bool = False,
        categorical_features: str | Sequence[Any] | None = "from_dtype",
        split_features: str | Sequence[int] | None = None,
        leaf_features: Sequence[int] | None = None,
        priors: Priors | None = None,
        draws: int = 1000,
        tune: int = 1000,
        thin: int = 1,
        chains: int = 4,
        n_jobs: int | None = None,
        random_state: Any = None,
        progressbar: bool | str = "auto",
    ) -> None:
        self.leaf = leaf
        self.tree = tree
        self.limiting_linear = limiting_linear
        self.mean = mean
        self.kernel = kernel
        self.isotropic = isotropic
        self.categorical_features = categorical_features
        self.split_features = split_features
        self.leaf_features = leaf_features
        self.priors = priors
        self.draws = draws
        self.tune = tune
        self.thin = thin
        self.chains = chains
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progressbar = progressbar

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Sample the posterior given X (n, columns) and y (n)."""
        for name in ("draws", "thin", "chains"):
            check_positive_integer(name, getattr(self, name))
        check_positive_integer("tune", self.tune, least=0)
        check_run_settings(self.n_jobs, self.progressbar)
        spec = self._spec()
        inputs, response = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        response = np.asarray(response, dtype=np.float64)
        encoder = self._encoder(inputs)
        problem = Problem.make(spec, encoder, inputs, response)
        self.priors_ = spec.priors

        seed = seed_from(self.random_state)
        run = Run([start_chain(problem, seed, i) for i in range(self.chains)])
        rounds = spec.schedule.rounds(self.draws)
        by_response = np.argsort(response, kind="stable")
        probes = inputs[by_response[np.linspace(0, len(response) - 1, N_PROBES).astype(int)]]

        def keep() -> None:
            predictor = Predictor(problem, Draws.join(run.draws), self.n_jobs)
            self.posterior_ = Posterior(
                predictor,
                probes,
                run.counts,
                run.failed_factorisations,
                self.tree,
                {"sampling": run.seconds},
            )
            self._seed = seed

        try:
            with Progress(is_wanted(self.progressbar), rounds, self.tune) as progress:
                run_chains(problem, run, tune=self.tune, rounds=rounds, n_jobs=self.n_jobs, report=progress.report)
        except KeyboardInterrupt:
            if run.round >= self.tune + self.thin:
                keep()
            raise
        keep()
        began = time.perf_counter()
        warn_once(self.posterior_.health())
        self.posterior_.timings["diagnostics"] = time.perf_counter() - began
        return self

    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """Posterior mean of f at X, with the standard deviation or covariance of new observations if asked."""
        if return_std and return_cov:
            raise ConfigError("predict gives return_std or return_cov, not both; call it twice for both.")
        X, predictor = self._ready(X)
        if return_cov:
            return predictor.joint(X)
        mean, variance = predictor.mean_and_variance(X)
        return (mean, np.sqrt(variance)) if return_std else mean

    def predict_quantiles(self, X: ArrayLike, q: ArrayLike, of: str = "y") -> Floats:
        """(row, q) posterior quantiles of a new observation (of="y") or of the surface (of="f")."""
        levels = check_levels(q)
        check_of(of)
        X, predictor = self._ready(X)
        return predictor.quantiles(X, levels, of)

    def predict_interval(self, X: ArrayLike, level: float = 0.9, of: str = "y") -> Floats:
        """(row, 2) central interval that holds `level` of the posterior."""
        check_share("level", level)
        return self.predict_quantiles(X, [(1 - level) / 2, (1 + level) / 2], of)

    def sample_posterior(self, X: ArrayLike, n: int | None = None) -> Floats:
        """(draw, row): f(x) jointly over rows, one sample for each kept draw, or for n of them."""
        if n is not None:
            check_positive_integer("n", n)
        X, predictor = self._ready(X)
        return predictor.sample_f(X, predictor.draws.thinned(n), np.random.default_rng(self._seed))

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: Any = 0) -> Floats:
        """(row, sample): new observations, jointly over rows, each from a kept draw picked at random."""
        check_positive_integer("n_samples", n_samples)
        X, predictor = self._ready(X)
        rng = np.random.default_rng(seed_from(random_state))
        return predictor.sample_y(X, rng.integers(len(predictor.draws), size=n_samples), rng).T

    def _spec(self) -> ModelSpec:
        return ModelSpec(
            leaf=self.leaf,
            tree=self.tree,
            limiting_linear=self.limiting_linear,
            mean=self.mean,
            kernel=self.kernel,
            isotropic=self.isotropic,
            priors=Priors() if self.priors is None else self.priors,
            schedule=Schedule(tune=self.tune, thin=self.thin),
        )

    def _encoder(self, X: Floats) -> InputEncoder:
        n_columns = X.shape[1]
        categorical = categorical_columns(self.categorical_features, n_columns)
        numeric = [i for i in range(n_columns) if i not in categorical]
        if isinstance(self.split_features, str) and self.split_features == "categorical":
            split = sorted(categorical)
        else:
            split = chosen_columns("split_features", self.split_features, list(range(n_columns)), n_columns)
        leaf = chosen_columns("leaf_features", self.leaf_features, numeric, n_columns)
        if not leaf and self.leaf != "constant":
            warnings.warn("No numeric leaf column: every leaf is a constant.", UserWarning, stacklevel=3)
        names = [f"x{i}" for i in range(n_columns)]
        return InputEncoder.learn(X, names, categorical, tuple(split), tuple(leaf))

    def _ready(self, X: ArrayLike) -> tuple[Floats, Predictor]:
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False), self.posterior_.predictor
