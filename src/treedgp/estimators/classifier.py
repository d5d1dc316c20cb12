"""Treed Gaussian process classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from treedgp.errors import ConfigError
from treedgp.estimators.base import TreedGPEstimator
from treedgp.estimators.inputs import InputSchema, read_training
from treedgp.estimators.labels import labels_like, read_labels
from treedgp.estimators.response import check_one_each
from treedgp.estimators.session import Session
from treedgp.estimators.settings import check_positive_integer
from treedgp.model.data import Floats
from treedgp.model.priors import CLASS_PRIORS, Priors
from treedgp.model.spec import ClassSpec, ModelSpec
from treedgp.posterior.classes import ClassPredictor


class TreedGPClassifier(ClassifierMixin, TreedGPEstimator):  # type: ignore[misc]
    """Bayesian treed Gaussian process classification.

    Each class but the last has a latent function, a treed Gaussian process with constant mean; the probabilities of the
    classes are the softmax of the latents, that of the last class (the base) being 0. Everything, the trees included,
    is sampled from its posterior and averaged over.

    Parameters
    ----------
    leaf : {"gp", "constant"}
        "gp": a Gaussian process of the latent in each region. "constant": Bayesian CART, class shares with a uniform
        Dirichlet prior in each region of one tree, no latents.
    tree : bool
        False: a single region (with leaf="gp" the paper's CGP).
    limiting_linear : bool
        Lets a GP leaf drop inputs one by one, down to a constant (only with leaf="gp").
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
    tree_sharing : {"per_class", "shared"}
        A tree for each class but the base (the paper's CTGP), or one for all (OTGP).
    latent_sampler : {"polya_gamma", "metropolis"}
        How latents are sampled: with the labels driving every move, or by the paper's Metropolis blocks.
    latent_block_size : int
        Latents that a Metropolis step moves at once.
    priors : Priors, optional
        None: `treedgp.CLASS_PRIORS`, which differ from `Priors()`; `dataclasses.replace(treedgp.CLASS_PRIORS,
        tree=TreePrior(alpha=0.9))` changes one part and keeps the others.
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
    classes_ : ndarray
        The labels in order; the last is the base class.
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
        kernel: str = "gaussian",
        isotropic: bool = False,
        categorical_features: str | Sequence[Any] | None = "from_dtype",
        split_features: str | Sequence[Any] | None = None,
        leaf_features: Sequence[Any] | None = None,
        input_scaling: str = "minmax",
        tree_sharing: str = "per_class",
        latent_sampler: str = "polya_gamma",
        latent_block_size: int = 10,
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
        self.kernel = kernel
        self.isotropic = isotropic
        self.categorical_features = categorical_features
        self.split_features = split_features
        self.leaf_features = leaf_features
        self.input_scaling = input_scaling
        self.tree_sharing = tree_sharing
        self.latent_sampler = latent_sampler
        self.latent_block_size = latent_block_size
        self.priors = priors
        self.draws = draws
        self.tune = tune
        self.thin = thin
        self.chains = chains
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progressbar = progressbar

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The most probable class of each row."""
        rows, predictor = self._ready(X)
        return np.asarray(self.classes_[predictor.shares(rows)[0].argmax(axis=1)])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Share of the rows whose label is predicted; y is read as in fit."""
        predicted, labels = self.predict(X), labels_like(self.classes_, y)
        check_one_each(len(predicted), len(labels))
        return float(accuracy_score(labels, predicted, sample_weight=sample_weight))

    def predict_proba(self, X: ArrayLike) -> Floats:
        """(row, class) posterior predictive probabilities: the softmax averaged over draws and over the law of the
        latents given each draw."""
        rows, predictor = self._ready(X)
        return predictor.shares(rows)[0]

    def vote_proba(self, X: ArrayLike) -> Floats:
        """(row, class) share of votes, the paper's rule: a draw of the latents votes for the class of the largest."""
        rows, predictor = self._ready(X)
        return predictor.shares(rows)[1]

    def latent_mean_and_variance(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """(class but the base, row) posterior mean and variance of the latents, nugget included.

        Large means likely. For two classes the latent is that of `classes_[0]`; scikit-learn's
        GaussianProcessClassifier has a method of the same name whose latent is that of `classes_[1]`.
        """
        rows, predictor = self._ready(X)
        self._require_latents("latent_mean_and_variance")
        return predictor.latent_moments(rows)

    def sample_posterior(self, X: ArrayLike, n: int | None = None) -> Floats:
        """(draw, class but the base, row): latents jointly over rows, nugget included, one sample for each kept draw,
        or for n of them if there are more."""
        if n is not None:
            check_positive_integer("n", n)
        rows, predictor = self._ready(X)
        self._require_latents("sample_posterior")
        draws = predictor.layers[0].thinned(n)
        return predictor.sample_latents(rows, draws, np.random.default_rng(self._session.seed))

    def _require_latents(self, method: str) -> None:
        if self._session.problem.n_latents == 0:
            raise ConfigError(f"{method} needs latents, and leaf='constant' has none; use predict_proba, or leaf='gp'.")

    def _spec(self) -> ModelSpec:
        return ModelSpec(
            leaf=self.leaf,
            tree=self.tree,
            limiting_linear=self.limiting_linear,
            mean="constant",
            kernel=self.kernel,
            isotropic=self.isotropic,
            priors=CLASS_PRIORS if self.priors is None else self.priors,
            schedule=self._schedule(),
            classes=ClassSpec(self.tree_sharing, self.latent_sampler, self.latent_block_size),
        )

    def _read(self, X: ArrayLike, y: ArrayLike) -> tuple[InputSchema, Floats, Floats, NDArray[Any]]:
        schema, inputs, (labels, codes) = read_training(self, X, y, self.categorical_features, read_labels)
        return schema, inputs, codes, labels

    def _keep(self, session: Session) -> None:
        super()._keep(session)
        assert session.labels is not None
        self.classes_: NDArray[Any] = session.labels

    def _ready(self, X: ArrayLike) -> tuple[Floats, ClassPredictor]:
        rows, predictor = self._new_rows(X), self.posterior_.predictor
        assert isinstance(predictor, ClassPredictor)
        return rows, predictor
