"""Treed Gaussian process regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score

from treedgp.errors import ConfigError
from treedgp.estimators.base import TreedGPEstimator
from treedgp.estimators.inputs import InputSchema, read_training
from treedgp.estimators.response import check_one_each, read_response
from treedgp.estimators.settings import check_levels, check_of, check_positive_integer, check_share, seed_from
from treedgp.model.data import Floats
from treedgp.model.priors import Priors
from treedgp.model.spec import ModelSpec
from treedgp.posterior.predict import Predictor


class TreedGPRegressor(RegressorMixin, TreedGPEstimator):  # type: ignore[misc]
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
    categorical_features : "from_dtype", None, mask, list of int or list of str
        Columns whose values are levels without order. "from_dtype": the category, text, object and bool columns of
        a pandas or polars data frame; none of an array. None: none. A missing value is a level of its own. A level
        not seen in training goes to the rest side of every rule, with a warning.
    split_features : None, mask, list of int or str, or "categorical"
        Columns the tree may split on; None: all; "categorical": only the categorical ones.
    leaf_features : None, mask, or list of int or str
        Columns the leaves see; None: every numeric column. A categorical column enters only if listed, as 0/1
        columns with the first level dropped.
    input_scaling : {"minmax", "quantile"}
        How the leaves see a numeric column: on 0 .. 1 linearly, or by the share of training values below it
        (piecewise linear, clipped outside their range), for skewed inputs. Thresholds are in the column's own units.
    priors : Priors, optional
        None: the documented defaults.
    draws, tune, thin, chains : int
        A chain makes tune + draws * thin rounds and keeps `draws` states.
    n_jobs : int, optional
        Chains run side by side in threads; None is 1 unless joblib is configured otherwise.
    random_state : int, RandomState, Generator or None
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
    feature_names_in_ : ndarray of str
        Only after a fit on a data frame whose column names are text.
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
        split_features: str | Sequence[Any] | None = None,
        leaf_features: Sequence[Any] | None = None,
        input_scaling: str = "minmax",
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
        self.input_scaling = input_scaling
        self.priors = priors
        self.draws = draws
        self.tune = tune
        self.thin = thin
        self.chains = chains
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progressbar = progressbar

    def predict(self, X: ArrayLike, return_std: bool = False, return_cov: bool = False) -> Any:
        """Posterior mean of f at X, with the standard deviation or covariance of new observations if asked."""
        if return_std and return_cov:
            raise ConfigError("predict gives return_std or return_cov, not both; call it twice for both.")
        X, predictor = self._ready(X)
        if return_cov:
            return predictor.joint(X)
        mean, variance = predictor.mean_and_variance(X)
        return (mean, np.sqrt(variance)) if return_std else mean

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R squared of the posterior mean; y is read as in fit."""
        predicted, response = self.predict(X), read_response(y)
        check_one_each(len(predicted), len(response))
        return float(r2_score(response, predicted, sample_weight=sample_weight))

    def predict_quantiles(self, X: ArrayLike, q: ArrayLike, of: str = "y") -> Floats:
        """(row, q) posterior quantiles of a new observation (of="y") or of the surface (of="f")."""
        levels = check_levels(q)
        check_of(of)
        X, predictor = self._ready(X)
        return predictor.quantiles(X, levels, of)

    def predict_interval(self, X: ArrayLike, level: float = 0.9, of: str = "y") -> Floats:
        """(row, 2) central interval that holds `level` of the posterior."""
        check_share("level", level)
        lower, upper = float((1 - level) / 2), float((1 + level) / 2)
        if not 0 < lower < upper < 1:
            raise ConfigError(
                f"level must differ from 0 and 1 by more than rounding, got {level!r}: its ends would be the quantiles "
                f"{lower!r} and {upper!r}. Write 0.9 for 90%."
            )
        return self.predict_quantiles(X, [lower, upper], of)

    def sample_posterior(self, X: ArrayLike, n: int | None = None) -> Floats:
        """(draw, row): f(x) jointly over rows, one sample for each kept draw, or for n of them if there are more."""
        if n is not None:
            check_positive_integer("n", n)
        X, predictor = self._ready(X)
        return predictor.sample_f(X, predictor.draws.thinned(n), np.random.default_rng(self._session.seed))

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
            schedule=self._schedule(),
        )

    def _read(self, X: ArrayLike, y: ArrayLike) -> tuple[InputSchema, Floats, Floats, None]:
        return *read_training(self, X, y, self.categorical_features, read_response), None

    def _ready(self, X: ArrayLike) -> tuple[Floats, Predictor]:
        rows, predictor = self._new_rows(X), self.posterior_.predictor
        assert isinstance(predictor, Predictor)
        return rows, predictor
