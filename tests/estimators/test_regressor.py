"""The regressor as a user sees it: the model family, closed forms, predictions, categorical inputs."""

import warnings

import numpy as np
import pytest
from scipy import stats

from treedgp import (
    CoefficientPrior,
    ConvergenceWarning,
    LengthscalePrior,
    NoisePrior,
    NuggetPrior,
    Priors,
    TreedGPRegressor,
    TreePrior,
    datasets,
)
from treedgp.posterior.predict import JOINT_ROWS

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

FAMILY = {
    "blm": {"leaf": "linear", "tree": False},
    "btlm": {"leaf": "linear"},
    "bcart": {"leaf": "constant"},
    "bgp": {"tree": False, "limiting_linear": False},
    "bgpllm": {"tree": False},
    "btgp": {"limiting_linear": False},
    "btgpllm": {},
}
KERNELS = ("gaussian", "matern12", "matern32", "matern52")
COEFFICIENTS = {
    "hierarchical": CoefficientPrior(),
    "flat": CoefficientPrior(kind="flat"),
    "bmzt": CoefficientPrior(kind="fixed"),
    "bmznot": CoefficientPrior(kind="fixed", tau2=4.0),
}


def model(name="btgpllm", **settings):
    return TreedGPRegressor(**{"chains": 2, "draws": 200, "tune": 300, "random_state": 0} | FAMILY[name] | settings)


def rmse(a, b):
    return float(np.sqrt(np.mean((a - b) ** 2)))


def plane(n=60, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 3, size=(n, 2))
    return X, 2 + 3 * X[:, 0] - X[:, 1] + noise * rng.standard_normal(n)


def step(n=60, noise=0.1, seed=0):
    """Jumps by 4 between x = 0.5 and the next point above."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(size=n))[:, None]
    return X, np.where(X[:, 0] <= 0.5, -2.0, 2.0) + noise * rng.standard_normal(n)


def sine(n=50, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(2 * np.pi * X[:, 0]) + noise * rng.standard_normal(n)


# --- the model family ---


@pytest.mark.parametrize("name", FAMILY)
def test_each_model_recovers_a_plane(name):
    X, y = plane()
    Xnew, truth = plane(200, noise=0, seed=1)
    fitted = model(name).fit(X, y)
    assert rmse(fitted.predict(Xnew), truth) < (1.5 if name == "bcart" else 0.1)
    has_ranges = fitted.posterior_.draws.arrays["range"].shape[1] == 2
    assert has_ranges == ("gp" in name)
    if not FAMILY[name].get("tree", True):
        assert (fitted.posterior_.n_leaves == 1).all()
    if name in ("bgp", "btgp"):
        assert (fitted.posterior_.draws.arrays["gp"] == 1).all()


@pytest.mark.parametrize("coefficients", COEFFICIENTS)
@pytest.mark.parametrize("name", ["btlm", "bcart", "btgpllm"])
def test_each_coefficient_prior_finds_a_step(name, coefficients):
    X, y = step()
    fitted = model(name, priors=Priors(coefficients=COEFFICIENTS[coefficients])).fit(X, y)
    inside = np.array([[0.1], [0.3], [0.7], [0.9]])
    assert fitted.predict(inside) == pytest.approx([-2, -2, 2, 2], abs=0.35)
    tau2 = fitted.posterior_.draws.arrays["tau2"]
    sampled = coefficients in ("hierarchical", "bmzt")
    assert (len(np.unique(tau2)) > 10) == sampled
    if coefficients == "bmznot":
        assert (tau2 == 4).all()


@pytest.mark.parametrize("mean", ["linear", "constant"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_each_kernel_and_mean_follows_a_sine(kernel, mean):
    X, y = sine()
    fitted = model("bgp", kernel=kernel, mean=mean).fit(X, y)
    grid = np.linspace(0.05, 0.95, 50)[:, None]
    assert rmse(fitted.predict(grid), np.sin(2 * np.pi * grid[:, 0])) < 0.1
    assert fitted.posterior_.draws.arrays["beta"].shape[1] == (2 if mean == "linear" else 1)


@pytest.mark.parametrize("kernel", KERNELS)
def test_an_isotropic_kernel_has_one_range_and_follows_a_bump(kernel):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(80, 2))
    y = np.exp(-(X**2).sum(axis=1)) + 0.02 * rng.standard_normal(80)
    fitted = model("bgp", kernel=kernel, isotropic=True).fit(X, y)
    assert fitted.posterior_.draws.arrays["range"].shape[1] == 1
    Xnew = rng.uniform(-1.5, 1.5, size=(100, 2))
    assert rmse(fitted.predict(Xnew), np.exp(-(Xnew**2).sum(axis=1))) < 0.1


@pytest.mark.parametrize("coefficients", ["hierarchical", "flat"])
def test_a_linear_model_recovers_an_exact_line(coefficients):
    X, y = plane(noise=0)
    Xnew, truth = plane(50, noise=0, seed=1)
    mean, std = model("blm", priors=Priors(coefficients=COEFFICIENTS[coefficients])).fit(X, y).predict(Xnew, True)
    assert mean == pytest.approx(truth, abs=1e-3)
    assert (std < 0.02 * np.ptp(y)).all()


def test_a_tree_of_constants_splits_between_the_right_values():
    X, y = step(noise=0.05)
    fitted = model("bcart", tune=2000).fit(X, y)  # 300 rounds leave one chain in five at a wrong tree
    arrays, column = fitted.posterior_.draws.arrays, fitted.posterior_.predictor.problem.encoder.columns[0]
    first = arrays["node_start"][:-1]
    assert (arrays["column"][first] == 0).mean() > 0.99
    below, above = X[X[:, 0] <= 0.5].max(), X[X[:, 0] > 0.5].min()
    internal = arrays["cut"][arrays["column"] == 0]
    thresholds = column.thresholds[internal]
    has_the_step = np.mean((thresholds >= below) & (thresholds < above))
    assert has_the_step * len(thresholds) >= 0.99 * len(first)
    assert fitted.predict([[below], [above]]) == pytest.approx([-2, 2], abs=0.1)


def test_a_gaussian_process_smooths_a_sine_better_than_its_noise():
    X, y = sine(80, noise=0.2)
    grid = np.linspace(0, 1, 101)[:, None]
    mean, std = model("bgp", draws=400).fit(X, y).predict(grid, return_std=True)
    assert rmse(mean, np.sin(2 * np.pi * grid[:, 0])) < 0.1
    assert std.mean() == pytest.approx(0.2, abs=0.06)


def test_defaults_of_the_tree_bound_the_leaves():
    X, y = step(40, noise=0.01)
    fitted = model("bcart", priors=Priors(tree=TreePrior(alpha=0.95, beta=0.1, min_leaf=7, max_depth=1))).fit(X, y)
    leaves = fitted.posterior_.n_leaves
    assert leaves.max() == 2  # max_depth
    deep = model("bcart", priors=Priors(tree=TreePrior(alpha=0.95, beta=0.1, min_leaf=7))).fit(X, y)
    assert 2 < deep.posterior_.n_leaves.max() <= 40 // 7


# --- closed forms (spec 15.2) ---

FIXTURE_X, FIXTURE_Z = np.array([0, 1 / 3, 2 / 3, 1])[:, None], np.array([0.1, -0.2, 0.4, 0.3])


def test_linear_model_with_a_flat_prior_is_ordinary_least_squares():
    """beta is t at the OLS estimate, sigma2 ~ IG((a + n - m)/2, (g + RSS)/2), all in units of the scaled response."""
    priors = Priors(coefficients=CoefficientPrior(kind="flat"), noise=NoisePrior(a=5, g=10, rates=None))
    fitted = model("blm", priors=priors, chains=4, draws=5000, tune=10).fit(FIXTURE_X, FIXTURE_Z)
    grid = np.linspace(-1, 2, 7)[:, None]
    ols = -0.03 + 0.36 * grid[:, 0]
    assert fitted.predict(grid) == pytest.approx(ols, abs=1e-10)  # beta integrated out: exact in every draw

    width = np.ptp(FIXTURE_Z)
    shape, rate = (5 + 4 - 2) / 2, (10 + 0.138 / width**2) / 2
    sigma2 = fitted.posterior_.draws.arrays["sigma2"]
    assert sigma2.mean() == pytest.approx(rate / (shape - 1), rel=0.05)
    assert stats.kstest(sigma2[::5], stats.invgamma(shape, scale=rate).cdf).pvalue > 1e-3

    # A new observation is t with 7 degrees of freedom; F'F of the fixture gives the leverage.
    F = np.column_stack([np.ones(4), FIXTURE_X])
    leverage = np.einsum("ij,jk,ik->i", f := np.column_stack([np.ones(7), grid]), np.linalg.inv(F.T @ F), f)
    t_scale = width * np.sqrt(rate / shape * (1 + leverage))
    expected = ols[:, None] + t_scale[:, None] * stats.t(7).ppf([0.05, 0.25, 0.9])
    assert fitted.predict_quantiles(grid, [0.05, 0.25, 0.9]) == pytest.approx(expected, abs=0.03 * t_scale.max())


def test_expected_noise_of_the_fixture():
    """E[sigma2] = 2.0276 on the raw response, whose range is 0.6: g in scaled units is 10 / 0.36."""
    priors = Priors(coefficients=CoefficientPrior(kind="flat"), noise=NoisePrior(a=5, g=10 / 0.36, rates=None))
    fitted = model("blm", priors=priors, chains=4, draws=10000, tune=10).fit(FIXTURE_X, FIXTURE_Z)
    sigma2 = fitted.posterior_.draws.arrays["sigma2"] * 0.36
    assert sigma2.mean() == pytest.approx(2.0276, rel=0.05)


@pytest.mark.parametrize("coefficients", ["flat", "bmznot"])
def test_constants_without_splits_predict_the_sample_mean(coefficients):
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(15, 1)), rng.normal(7, 2, size=15)
    priors = Priors(coefficients=COEFFICIENTS[coefficients], tree=TreePrior(min_leaf=8))
    fitted = model("bcart", priors=priors).fit(X, y)
    assert (fitted.posterior_.n_leaves == 1).all()
    assert fitted.predict(X) == pytest.approx(np.full(15, y.mean()), abs=1e-12 if coefficients == "flat" else 0.05)


@pytest.mark.parametrize(("treed", "treeless"), [("btgp", "bgp"), ("btgpllm", "bgpllm"), ("btlm", "blm")])
def test_a_tree_that_cannot_split_is_no_tree(treed, treeless):
    """The same posterior: predictions agree within Monte Carlo error, and so do the leaf's parameters."""
    X, y = sine(25, noise=0.2)
    priors = Priors(tree=TreePrior(min_leaf=25))
    length = {"chains": 4, "draws": 1500, "tune": 500, "thin": 2}
    a = model(treed, priors=priors, **length).fit(X, y)
    b = model(treeless, **length | {"random_state": 1}).fit(X, y)
    assert (a.posterior_.n_leaves == 1).all()
    grid = np.linspace(0, 1, 11)[:, None]
    (mean_a, std_a), (mean_b, std_b) = (m.predict(grid, return_std=True) for m in (a, b))
    assert np.abs(mean_a - mean_b).max() < 0.15 * std_b.mean()
    assert std_a == pytest.approx(std_b, rel=0.15)
    assert a.posterior_.log_posterior.mean() == pytest.approx(b.posterior_.log_posterior.mean(), abs=0.5)


# --- equivariance and invariance (spec 15.2.7) ---

INVARIANT = ["btlm", "bcart", "btgpllm"]


def affine_data():
    rng = np.random.default_rng(5)
    X = rng.uniform(size=(40, 2))
    return X, np.where(X[:, 0] < 0.4, 0, 2) + X[:, 1] + 0.1 * rng.standard_normal(40)


@pytest.mark.parametrize("name", INVARIANT)
@pytest.mark.parametrize(("scale", "shift"), [(8.0, 0.0), (3.7, -120.0), (1e-6, 0.0), (1e9, 5e9)])
def test_predictions_follow_an_affine_map_of_the_response(name, scale, shift):
    X, y = affine_data()
    settings = {"draws": 30, "tune": 60}
    mean, std = model(name, **settings).fit(X, y).predict(X, return_std=True)
    moved, moved_std = model(name, **settings).fit(X, shift + scale * y).predict(X, return_std=True)
    assert (moved - shift) / scale == pytest.approx(mean, rel=1e-6, abs=1e-6)
    assert moved_std / scale == pytest.approx(std, rel=1e-5)


@pytest.mark.parametrize("name", INVARIANT)
def test_a_mirrored_response_gives_the_same_law(name):
    """Another run, not the same draws: agreement within Monte Carlo error."""
    X, y = affine_data()
    length = {"chains": 4, "draws": 800, "tune": 800}
    mean, std = model(name, **length).fit(X, y).predict(X, return_std=True)
    mirrored, mirrored_std = model(name, **length).fit(X, 1 - 2.5 * y).predict(X, return_std=True)
    assert np.abs((1 - mirrored) / 2.5 - mean).max() < 0.5 * std.max()
    assert mirrored_std.mean() / 2.5 == pytest.approx(std.mean(), rel=0.15)


@pytest.mark.parametrize("name", INVARIANT)
@pytest.mark.parametrize(
    ("scale", "shift"), [([8, 0.25], [0, 0]), ([3.3, 1e-5], [-7, 2]), ([1e6, 1e-6], [1e6, 1e-6])], ids=str
)
def test_predictions_do_not_see_an_affine_map_of_the_inputs(name, scale, shift):
    X, y = affine_data()
    Xnew = np.random.default_rng(6).uniform(-0.3, 1.3, size=(30, 2))
    settings = {"draws": 30, "tune": 60}
    mean, std = model(name, **settings).fit(X, y).predict(Xnew, return_std=True)
    moved = model(name, **settings).fit(shift + X * scale, y)
    moved_mean, moved_std = moved.predict(shift + Xnew * scale, return_std=True)
    assert moved_mean == pytest.approx(mean, rel=1e-6, abs=1e-6)
    assert moved_std == pytest.approx(std, rel=1e-5)


# --- predictions agree with each other ---


@pytest.fixture(scope="module")
def fitted():
    X, y = affine_data()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model("btgpllm", draws=300, tune=500).fit(X, y)


NEW = np.random.default_rng(7).uniform(-0.2, 1.2, size=(8, 2))


def test_the_mean_comes_alone_or_with_its_spread(fitted):
    mean = fitted.predict(NEW)
    with_std, std = fitted.predict(NEW, return_std=True)
    with_cov, cov = fitted.predict(NEW, return_cov=True)
    assert np.array_equal(mean, with_std)
    assert with_cov == pytest.approx(mean, rel=1e-9)
    assert np.sqrt(np.diag(cov)) == pytest.approx(std, rel=1e-6)
    assert np.linalg.eigvalsh(cov).min() > 0


def test_the_mean_is_the_average_over_draws(fitted):
    predictor = fitted.posterior_.predictor
    by_draw = predictor.mean_by_draw(NEW)
    assert by_draw.shape == (600, 8)
    assert fitted.predict(NEW) == pytest.approx(by_draw.mean(axis=0), rel=1e-12)


def test_the_spread_obeys_the_law_of_total_variance(fitted):
    predictor = fitted.posterior_.predictor
    _, of_y = predictor.mean_and_variance(NEW, "y")
    _, of_f = predictor.mean_and_variance(NEW, "f")
    between = predictor.mean_by_draw(NEW).var(axis=0)
    assert (of_f >= between).all()  # plus E[var f | draw]
    assert (of_y > of_f).all()  # plus the noise
    assert fitted.predict(NEW, return_std=True)[1] == pytest.approx(np.sqrt(of_y))


@pytest.fixture(scope="module")
def sampled(fitted):
    return fitted.sample_y(NEW, n_samples=20000, random_state=1)


def test_samples_of_y_have_the_predicted_moments(fitted, sampled):
    mean, cov = fitted.predict(NEW, return_cov=True)
    assert sampled.shape == (8, 20000)
    std = np.sqrt(np.diag(cov))
    assert sampled.mean(axis=1) == pytest.approx(mean, abs=5 * std.max() / np.sqrt(20000))
    assert np.abs(np.cov(sampled) - cov).max() < 0.06 * np.outer(std, std).max()


@pytest.mark.parametrize("q", [0.01, 0.1, 0.5, 0.9, 0.99])
def test_quantiles_are_those_of_a_big_sample(fitted, sampled, q):
    """Shares below the quantile: binomial, 5 standard errors."""
    quantile = fitted.predict_quantiles(NEW, [q])
    assert quantile.shape == (8, 1)
    below = (sampled <= quantile).mean(axis=1)
    assert np.abs(below - q).max() < 5 * np.sqrt(q * (1 - q) / 20000)


def test_samples_of_f_have_the_moments_of_the_surface(fitted):
    predictor = fitted.posterior_.predictor
    samples = np.vstack([predictor.sample_f(NEW, np.arange(600), np.random.default_rng(i)) for i in range(30)])
    mean, cov = predictor.joint(NEW, "f")
    std = np.sqrt(np.diag(cov))
    assert np.abs(samples.mean(axis=0) - mean).max() < 5 * std.max() / np.sqrt(18000)
    assert np.abs(np.cov(samples.T) - cov).max() < 0.08 * np.outer(std, std).max()


def test_sample_posterior_gives_one_surface_a_draw(fitted):
    assert fitted.sample_posterior(NEW).shape == (600, 8)
    assert fitted.sample_posterior(NEW, n=7).shape == (7, 8)
    assert np.array_equal(fitted.sample_posterior(NEW), fitted.sample_posterior(NEW))
    twice = fitted.sample_posterior(np.vstack([NEW, NEW]), n=50)
    assert twice[:, :8] == pytest.approx(twice[:, 8:], abs=1e-5)  # one surface: equal at equal inputs


def test_sample_y_is_reproducible_and_new_each_time(fitted):
    assert np.array_equal(fitted.sample_y(NEW, 5), fitted.sample_y(NEW, 5))
    assert not np.array_equal(fitted.sample_y(NEW, 5, random_state=1), fitted.sample_y(NEW, 5, random_state=2))
    twice = fitted.sample_y(np.vstack([NEW, NEW]), 50)
    assert np.abs(twice[:8] - twice[8:]).min() > 0  # noise is not shared


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_an_interval_is_its_two_quantiles(fitted, level):
    interval = fitted.predict_interval(NEW, level)
    assert interval.shape == (8, 2)
    assert np.array_equal(interval, fitted.predict_quantiles(NEW, [(1 - level) / 2, (1 + level) / 2]))
    assert (interval[:, 0] < interval[:, 1]).all()


def test_the_surface_is_narrower_than_an_observation(fitted):
    of_f, of_y = (np.diff(fitted.predict_interval(NEW, 0.9, of=of), axis=1) for of in "fy")
    assert (of_f < of_y).all()


def test_quantiles_take_one_level_or_many_in_any_order(fitted):
    assert fitted.predict_quantiles(NEW, 0.5).shape == (8, 1)
    forward, backward = fitted.predict_quantiles(NEW, [0.1, 0.9]), fitted.predict_quantiles(NEW, [0.9, 0.1])
    assert np.array_equal(forward, backward[:, ::-1])


def test_the_covariance_has_a_row_limit_and_the_spread_has_none(fitted):
    many = np.random.default_rng(0).uniform(size=(JOINT_ROWS + 1, 2))
    with pytest.raises(ValueError, match=rf"at most {JOINT_ROWS} rows.*fewer rows"):
        fitted.predict(many, return_cov=True)
    assert fitted.predict(many, return_std=True)[1].shape == (JOINT_ROWS + 1,)


@pytest.mark.parametrize("name", ["bcart", "btlm", "btgp"])
def test_outside_the_box_the_outer_leaf_predicts(name):
    X, y = step()
    fitted = model(name).fit(X, y)
    far = np.array([[-1e6], [-1.0], [2.0], [1e6]])
    mean, std = fitted.predict(far, return_std=True)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()
    if name == "bcart":
        assert mean == pytest.approx(fitted.predict([[X.min()], [X.min()], [X.max()], [X.max()]]), abs=1e-12)
    else:
        assert std[0] > std[1] > fitted.predict([[0.2]], return_std=True)[1][0]


def test_one_row_or_a_list_of_lists_will_do(fitted):
    assert fitted.predict([[0.1, 0.2]]).shape == (1,)
    assert fitted.predict([[0.1, 0.2]], return_cov=True)[1].shape == (1, 1)
    assert np.array_equal(fitted.predict(NEW.tolist()), fitted.predict(NEW))
    assert fitted.predict(np.asfortranarray(NEW)) == pytest.approx(fitted.predict(NEW), rel=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_hold_their_share_of_new_data(level):
    X, y = sine(60, noise=0.3)
    Xnew, ynew = sine(500, noise=0.3, seed=1)
    interval = model("btgpllm").fit(X, y).predict_interval(Xnew, level)
    inside = np.mean((interval[:, 0] < ynew) & (ynew < interval[:, 1]))
    assert inside == pytest.approx(level, abs=0.1)


# --- priors that fix a value ---


def test_a_fixed_nugget_and_range_stay_put():
    X, y = sine()
    priors = Priors(nugget=NuggetPrior(fixed=0.05), lengthscale=LengthscalePrior(fixed=0.3))
    fitted = model("bgp", priors=priors).fit(X, y)
    arrays = fitted.posterior_.draws.arrays
    assert (arrays["nugget"] == 0.05).all()
    assert (arrays["range"] == 0.3).all()
    assert rmse(fitted.predict(X), np.sin(2 * np.pi * X[:, 0])) < 0.15


def test_a_fixed_noise_prior_keeps_its_hyperparameters():
    X, y = sine()
    arrays = model("bgp", priors=Priors(noise=NoisePrior(a=3, g=0.1, rates=None))).fit(X, y).posterior_.draws.arrays
    assert (arrays["hyper"][:, 0] == 3).all()
    assert (arrays["hyper"][:, 1] == 0.1).all()


# --- categorical inputs ---


def levels_data(n=90, seed=0):
    """The level decides the sign of the slope; level 2 sits apart."""
    rng = np.random.default_rng(seed)
    x, level = rng.uniform(size=n), np.arange(n) % 3
    f = np.array([0.0, 2.0, 5.0])[level] + np.array([3.0, -3.0, 0.0])[level] * x
    return np.column_stack([x, 10.0 * level]), f + 0.1 * rng.standard_normal(n), f


def test_a_tree_on_levels_finds_each_levels_line():
    X, y, f = levels_data()
    fitted = model("btlm", categorical_features=[1], split_features="categorical").fit(X, y)
    arrays = fitted.posterior_.draws.arrays
    assert (fitted.posterior_.n_leaves == 3).mean() > 0.9
    assert set(np.unique(arrays["column"])) == {-1, 0}  # the only split column
    assert rmse(fitted.predict(X), f) < 0.1


@pytest.mark.parametrize("categorical", [[1], (1,), [False, True], np.array([False, True])], ids=str)
def test_ways_to_name_the_categorical_columns(categorical):
    X, y, _ = levels_data()
    fitted = model("btlm", categorical_features=categorical, draws=20).fit(X, y)
    encoder = fitted.posterior_.predictor.problem.encoder
    assert encoder.columns[1].levels.tolist() == [0, 1, 2]
    assert encoder.columns[1].labels == ("0", "10", "20")
    assert encoder.leaf == (0,)
    assert encoder.split == (0, 1)


def test_an_unseen_level_goes_to_the_rest_side():
    """One level against the rest: an unseen level must be predicted as what is not that level."""
    rng = np.random.default_rng(0)
    level = np.repeat([0.0, 1.0], 30)
    X, y = np.column_stack([rng.uniform(size=60), level]), 4 * level + 0.1 * rng.standard_normal(60)
    priors = Priors(tree=TreePrior(max_depth=1))
    fitted = model("bcart", categorical_features=[1], split_features="categorical", priors=priors).fit(X, y)
    predictor = fitted.posterior_.predictor
    by_draw = predictor.mean_by_draw(np.array([[0.5, 0.0], [0.5, 1.0], [0.5, 7.0]]))
    arrays = predictor.draws.arrays
    split = np.diff(arrays["node_start"]) == 3
    assert split.mean() > 0.9
    left_level = arrays["cut"][arrays["node_start"][:-1]][split]
    assert set(left_level) == {0, 1}  # both mirror rules occur
    rest = np.where(left_level == 0, by_draw[split, 1], by_draw[split, 0])
    assert np.array_equal(by_draw[split, 2], rest)


def test_a_categorical_column_enters_the_leaves_only_if_listed():
    X, y, f = levels_data()
    by_default = model("blm", categorical_features=[1]).fit(X, y)
    listed = model("blm", categorical_features=[1], leaf_features=[0, 1]).fit(X, y)
    assert by_default.posterior_.draws.arrays["beta"].shape[1] == 2  # 1, x
    assert listed.posterior_.draws.arrays["beta"].shape[1] == 4  # 1, x, level 10, level 20
    assert rmse(listed.predict(X), f) < 0.7 * rmse(by_default.predict(X), f)


def test_zero_one_columns_work_in_a_gaussian_process():
    X, y, f = levels_data()
    fitted = model("bgp", categorical_features=[1], leaf_features=[0, 1]).fit(X, y)
    assert rmse(fitted.predict(X), f) < 0.1
    unseen = fitted.predict([[0.5, 99.0], [0.5, 0.0]])
    assert unseen[0] == unseen[1]  # all zeros, as the first level


def test_leaf_and_split_features_are_respected():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 3))
    y = np.where(X[:, 0] > 0.5, 3.0, 0.0) + X[:, 1] + 0.1 * rng.standard_normal(60)
    fitted = model("btlm", split_features=[0], leaf_features=[1]).fit(X, y)
    assert fitted.posterior_.draws.arrays["beta"].shape[1] == 2
    Xnew = X.copy()
    Xnew[:, 2] = rng.uniform(size=60)  # a column nobody sees
    assert np.array_equal(fitted.predict(Xnew), fitted.predict(X))
    assert rmse(fitted.predict(X), np.where(X[:, 0] > 0.5, 3.0, 0.0) + X[:, 1]) < 0.1


@pytest.mark.parametrize("name", ["btlm", "btgpllm"])
def test_without_a_numeric_leaf_column_every_leaf_is_a_constant(name):
    X, y, _ = levels_data()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = model(name, categorical_features=[0], draws=50).fit(X[:, 1:], y)
    ours = [w for w in caught if w.category is UserWarning]
    assert len(ours) == 1
    assert "every leaf is a constant" in str(ours[0].message)
    assert fitted.posterior_.draws.arrays["beta"].shape[1] == 1
    means = [y[X[:, 1] == level].mean() for level in (0, 10, 20)]
    assert fitted.predict([[0], [10], [20]]) == pytest.approx(means, abs=0.15)


def test_a_constant_leaf_needs_no_numeric_column_and_does_not_warn():
    X, y, _ = levels_data()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", category=ConvergenceWarning)
        model("bcart", categorical_features=[0], draws=50).fit(X[:, 1:], y)


# --- the accuracy gate on categorical Friedman data ---


@pytest.mark.parametrize("coefficients", ["hierarchical", "flat"])
def test_categorical_friedman_gate(coefficients):
    """7000 rounds; every 50th is kept, which is enough for the mean and spares prediction time."""
    train = datasets.make_friedman_categorical(500, random_state=1)
    test = datasets.make_friedman_categorical(1000, random_state=1001)
    fitted = TreedGPRegressor(
        categorical_features=[10],
        split_features="categorical",
        priors=Priors(coefficients=COEFFICIENTS[coefficients]),
        tune=2000,
        draws=100,
        thin=50,
        chains=4,
        random_state=1,
    ).fit(train.X, train.y)
    by_chain = fitted.posterior_.predictor.mean_by_draw(test.X).reshape(4, 100, 1000).mean(axis=1)
    assert rmse(by_chain.mean(axis=0), test.f) <= 0.6
    assert max(rmse(mean, test.f) for mean in by_chain) <= 0.75
