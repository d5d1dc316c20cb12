"""The scikit-learn contract of the classifier: its own checks on every kind of model, and its tools around it."""

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from treedgp import ConfigError, Priors, TreedGPClassifier, TreedGPError, TreedGPRegressor
from treedgp.model.priors import CLASS_PRIORS

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

SHORT = {"chains": 1, "draws": 20, "tune": 20, "random_state": 0}

VARIANTS = [
    TreedGPClassifier(**SHORT),
    TreedGPClassifier(tree_sharing="shared", **SHORT),
    TreedGPClassifier(latent_sampler="metropolis", **SHORT | {"tune": 100}),  # which walks where the others draw
    TreedGPClassifier(leaf="constant", **SHORT),
    TreedGPClassifier(tree=False, kernel="matern52", isotropic=True, limiting_linear=False, **SHORT),
]


@parametrize_with_checks(VARIANTS)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    return X, np.array(["low", "middle", "high"])[(X[:, 0] * 3).astype(int)]


def test_constructor_only_stores_its_arguments():
    settings = {"leaf": "no such leaf", "tree": object(), "priors": object(), "draws": "many", "tree_sharing": 3}
    model = TreedGPClassifier(**settings)
    for name, value in settings.items():
        assert getattr(model, name) is value


def test_clone_copies_settings_and_nothing_learned(data):
    model = TreedGPClassifier(leaf="constant", priors=CLASS_PRIORS, **SHORT).fit(*data)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classes_")
    for ask in ("predict", "predict_proba", "vote_proba", "latent_mean_and_variance", "sample_posterior"):
        with pytest.raises(NotFittedError):
            getattr(copy, ask)(data[0])


def test_fit_returns_self_and_learned_attributes_end_in_underscore(data):
    model = TreedGPClassifier(**SHORT)
    before = set(vars(model))
    assert model.fit(*data) is model
    public = {name for name in set(vars(model)) - before if not name.startswith("_")}
    assert public == {"posterior_", "priors_", "classes_", "n_features_in_"}
    assert is_classifier(model)
    assert model.priors_ == CLASS_PRIORS != Priors()


def test_refit_forgets_the_first_fit(data):
    X, y = data
    model = TreedGPClassifier(**SHORT)
    once = model.fit(X, y).predict_proba(X)
    model.fit(X[:, :1], y == "low")
    assert model.n_features_in_ == 1
    assert model.classes_.tolist() == [False, True]
    assert np.array_equal(model.fit(X, y).predict_proba(X), once)


def test_bad_labels_lose_nothing(data):
    X, y = data
    model = TreedGPClassifier(**SHORT).fit(X, y)
    before = model.predict_proba(X)
    with pytest.raises(TreedGPError):
        model.fit(X, np.zeros(len(X)))
    assert np.array_equal(model.predict_proba(X), before)
    assert model.classes_.tolist() == ["high", "low", "middle"]


def test_a_run_that_fails_while_tuning_leaves_an_unfitted_classifier(data, monkeypatch):
    from treedgp.estimators import session

    model = TreedGPClassifier(**SHORT).fit(*data)

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "run_chains", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*data)
    assert not hasattr(model, "classes_")
    with pytest.raises(NotFittedError):
        model.predict(data[0])


def test_pipeline_gives_what_its_steps_give(data):
    X, y = data
    model = TreedGPClassifier(**SHORT)
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    assert np.array_equal(pipeline.predict_proba(X), clone(model).fit(scaled, y).predict_proba(scaled))


def test_cross_validation_finds_the_signal(data):
    model = TreedGPClassifier(chains=1, draws=50, tune=100, random_state=0)
    assert cross_val_score(model, *data, cv=3).mean() > 0.8
    loss = -cross_val_score(model, *data, cv=3, scoring="neg_log_loss").mean()
    assert loss < 0.6 < np.log(3)
    shares = cross_val_predict(model, *data, cv=3, method="predict_proba")
    assert shares.shape == (60, 3)


def test_grid_search_prefers_the_better_leaf(data):
    model = TreedGPClassifier(tree=False, chains=1, draws=50, tune=100, random_state=0)
    search = GridSearchCV(model, {"leaf": ["constant", "gp"]}, cv=3).fit(*data)
    assert search.best_params_ == {"leaf": "gp"}


def test_one_vs_rest_takes_the_classifier(data):
    X, y = data
    model = OneVsRestClassifier(TreedGPClassifier(chains=1, draws=50, tune=100, random_state=0)).fit(X, y)
    assert model.score(X, y) > 0.8


def test_score_is_the_share_of_right_labels(data):
    X, y = data
    model = TreedGPClassifier(**SHORT).fit(X, y)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
    weights = np.arange(60.0)
    assert model.score(X, y, sample_weight=weights) == pytest.approx(
        np.average(model.predict(X) == y, weights=weights), rel=1e-12
    )


@pytest.mark.parametrize("estimator", [TreedGPClassifier, TreedGPRegressor])
def test_row_weights_are_refused_in_words(data, estimator):
    X, y = data
    model = estimator(**SHORT)
    assert not has_fit_parameter(model, "sample_weight")
    with pytest.raises(ConfigError, match=r"fit takes no sample_weight.*Leave it out"):
        model.fit(X, y, sample_weight=np.ones(60))
    with pytest.raises(TypeError, match="got burn_in"):  # as Python says of an argument that is none
        model.fit(X, y, burn_in=10)
    assert not hasattr(model, "posterior_")
