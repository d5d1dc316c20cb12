"""The scikit-learn contract: its own checks on every kind of leaf, and its tools around the estimator."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning as SklearnConvergenceWarning
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from treedgp import CoefficientPrior, ConvergenceWarning, Priors, TreedGPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

SHORT = {"chains": 1, "draws": 20, "tune": 20, "random_state": 0}

VARIANTS = [
    TreedGPRegressor(**SHORT),
    TreedGPRegressor(leaf="linear", **SHORT),
    TreedGPRegressor(leaf="constant", **SHORT | {"tune": 300}),  # 20 rounds grow no tree worth R^2 > 0.5
    TreedGPRegressor(tree=False, **SHORT),
    TreedGPRegressor(leaf="linear", tree=False, **SHORT),
    TreedGPRegressor(leaf="constant", tree=False, **SHORT),
    TreedGPRegressor(isotropic=True, **SHORT),
    TreedGPRegressor(mean="constant", kernel="matern52", limiting_linear=False, **SHORT),
]


def expected_failures(estimator):
    """Check name -> reason."""
    if estimator.leaf == "constant" and not estimator.tree:
        return {"check_regressors_train": "a single constant has R^2 = 0 by definition"}
    return {}


@parametrize_with_checks(VARIANTS, expected_failed_checks=expected_failures, xfail_strict=True)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    return X, 3 * X[:, 0] + np.sin(5 * X[:, 1]) + 0.05 * rng.standard_normal(60)


def test_constructor_only_stores_its_arguments():
    settings = {"leaf": "no such leaf", "tree": object(), "priors": object(), "draws": "many"}
    model = TreedGPRegressor(**settings)
    for name, value in settings.items():
        assert getattr(model, name) is value


def test_clone_copies_settings_and_nothing_learned(data):
    priors = Priors(coefficients=CoefficientPrior(kind="flat"))
    model = TreedGPRegressor(leaf="linear", priors=priors, **SHORT).fit(*data)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "posterior_")
    with pytest.raises(NotFittedError):
        copy.predict(data[0])


def test_priors_are_one_opaque_parameter():
    priors = Priors()
    model = TreedGPRegressor(priors=priors)
    assert model.get_params(deep=True)["priors"] is priors
    assert not [name for name in model.get_params(deep=True) if name.startswith("priors__")]
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(burn_in=10)


def test_set_params_takes_effect_at_the_next_fit(data):
    model = TreedGPRegressor(**SHORT).fit(*data)
    model.set_params(draws=30, chains=2, leaf="constant").fit(*data)
    assert model.posterior_.n_leaves.shape == (2, 30)
    assert model.posterior_.draws.arrays["beta"].shape[1] == 1


def test_fit_returns_self_and_learned_attributes_end_in_underscore(data):
    model = TreedGPRegressor(**SHORT)
    before = set(vars(model))
    assert model.fit(*data) is model
    public = {name for name in set(vars(model)) - before if not name.startswith("_")}
    assert public == {"posterior_", "priors_", "n_features_in_"}
    assert is_regressor(model)
    assert model.n_features_in_ == 2
    assert model.priors_ == Priors()


def test_refit_forgets_the_first_fit(data):
    X, y = data
    model = TreedGPRegressor(**SHORT)
    once = model.fit(X, y).predict(X)
    model.fit(X[:, :1], -y)
    assert model.n_features_in_ == 1
    assert np.array_equal(model.fit(X, y).predict(X), once)


def test_pipeline_gives_what_its_steps_give(data):
    X, y = data
    model = TreedGPRegressor(leaf="linear", **SHORT)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    assert np.array_equal(pipeline.predict(X), clone(model).fit(scaled, y).predict(scaled))


def test_cross_validation_finds_the_signal(data):
    model = TreedGPRegressor(leaf="linear", tree=False, chains=1, draws=100, tune=100, random_state=0)
    assert cross_val_score(model, *data, cv=3).min() > 0.5


def test_grid_search_prefers_the_better_leaf(data):
    model = TreedGPRegressor(tree=False, chains=1, draws=50, tune=50, random_state=0)
    search = GridSearchCV(model, {"leaf": ["constant", "linear"]}, cv=3).fit(*data)
    assert search.best_params_ == {"leaf": "linear"}


def test_score_is_r_squared(data):
    X, y = data
    model = TreedGPRegressor(**SHORT).fit(X, y)
    residual = y - model.predict(X)
    assert model.score(X, y) == pytest.approx(1 - residual @ residual / np.sum((y - y.mean()) ** 2))


def test_a_doubtful_fit_warns_once_and_the_warning_is_scikit_learns(data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TreedGPRegressor(chains=2, draws=12, tune=0, random_state=0).fit(*data)
    ours = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(ours) == 1
    assert issubclass(ours[0].category, SklearnConvergenceWarning)
    assert "Few effective draws" in str(ours[0].message)
