"""The predictive mixture: quantiles against brute force, and each summary against the draws it summarises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from treedgp import ConvergenceWarning, DataError, TreedGPRegressor
from treedgp.posterior import predict
from treedgp.posterior.draws import Draws, concatenate
from treedgp.posterior.predict import mixture_quantile


def distribution_function(x, mu, sd):
    """Of the equal mixture, for each column."""
    return stats.norm.cdf(x, mu, sd).mean(axis=0)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(1, 40),
    st.floats(0.001, 0.999),
    st.sampled_from([1e-6, 1e-2, 1.0, 100.0]),
)
def test_mixture_quantile_is_the_root_of_the_distribution_function(seed, n, level, spread):
    rng = np.random.default_rng(seed)
    mu = rng.standard_normal((n, 3)) * rng.choice([0.1, 10])
    sd = spread * rng.gamma(1.0, size=(n, 3)) + 1e-9
    got = mixture_quantile(mu, sd, level)
    assert distribution_function(got, mu, sd) == pytest.approx(np.full(3, level), abs=1e-6)


@pytest.mark.parametrize("level", [0.02, 0.3, 0.5, 0.97])
def test_mixture_quantile_is_the_brute_force_root(level):
    rng = np.random.default_rng(0)
    mu, sd = rng.standard_normal((25, 1)), rng.gamma(2.0, size=(25, 1))
    expected = optimize.brentq(lambda x: distribution_function(x, mu, sd)[0] - level, -99, 99, xtol=1e-14)
    assert mixture_quantile(mu, sd, level)[0] == pytest.approx(expected, rel=1e-9)


def test_mixture_quantile_in_the_gap_between_far_components():
    mu, sd = np.array([[0.0], [100.0]]), np.full((2, 1), 0.1)
    for level in (0.25, 0.75):
        expected = stats.norm.ppf(2 * level % 1, [0.0, 100.0][level > 0.5], 0.1)
        assert mixture_quantile(mu, sd, level)[0] == pytest.approx(expected, abs=1e-8)
    assert 0 < mixture_quantile(mu, sd, 0.5)[0] < 100  # anywhere in the gap


def test_mixture_quantile_of_certain_components_is_one_of_them():
    mu = np.arange(10.0)[:, None]
    got = mixture_quantile(mu, np.zeros_like(mu), 0.45)[0]
    assert got == pytest.approx(4.0, abs=1e-9)


def test_mixture_quantile_of_equal_certain_components_is_their_value():
    for value in (0.0, -3.0, 1e12):
        got = mixture_quantile(np.full((5, 1), value), np.zeros((5, 1)), 0.9)[0]
        assert got == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_mixture_quantiles_increase_with_the_level():
    rng = np.random.default_rng(0)
    mu, sd = rng.standard_normal((50, 4)), rng.gamma(0.1, size=(50, 4))
    values = np.array([mixture_quantile(mu, sd, level) for level in np.linspace(0.01, 0.99, 25)])
    assert (np.diff(values, axis=0) >= 0).all()


# --- a small fit whose draws are summed up by hand ---


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(3)
    X = rng.uniform(size=(40, 2))
    y = 5 + np.where(X[:, 0] < 0.5, 0.0, 3.0) + X[:, 1] + 0.2 * rng.standard_normal(40)
    model = TreedGPRegressor(chains=2, draws=40, tune=200, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Few effective draws"):
        model.fit(X, y)
    return model, rng.uniform(-0.2, 1.2, size=(15, 2))


def components(model, X, of="y"):
    """Mean and covariance of each draw in the user's units, from the joint law."""
    predictor = model.posterior_.predictor
    scale = predictor.problem.scale
    out = []
    for mean, noise, cov in predictor._joint_draws(X, np.arange(len(predictor.draws))):
        total = cov + np.diag(noise) if of == "y" else cov
        out.append((scale.unscale(mean), total * scale.width**2))
    return out


@pytest.mark.parametrize("of", ["y", "f"])
def test_moments_follow_the_law_of_total_variance(fit, of):
    model, X = fit
    means, covs = map(np.array, zip(*components(model, X, of), strict=True))
    mean, variance = model.posterior_.predictor.mean_and_variance(X, of)
    assert mean == pytest.approx(means.mean(axis=0), rel=1e-9)
    expected = covs.diagonal(axis1=1, axis2=2).mean(axis=0) + means.var(axis=0)
    assert variance == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("of", ["y", "f"])
def test_joint_covariance_is_that_of_the_mixture(fit, of):
    model, X = fit
    means, covs = map(np.array, zip(*components(model, X, of), strict=True))
    mean, cov = model.posterior_.predictor.joint(X, of)
    expected = covs.mean(axis=0) + np.cov(means.T, bias=True)
    assert mean == pytest.approx(means.mean(axis=0), rel=1e-9)
    assert np.abs(cov - expected).max() < 1e-9 * np.abs(expected).max()
    assert np.array_equal(cov, cov.T)


@pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
@pytest.mark.parametrize("response", ["flat then wavy", "a line far from 0"])
def test_the_diagonal_of_the_covariance_is_the_squared_sd_where_that_is_small(response):
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(size=(80, 1)), axis=0)
    N = np.linspace(0.02, 0.4, 8)[:, None]
    wavy = np.where(X[:, 0] < 0.5, 0, np.sin(20 * X[:, 0]))
    y = wavy if response == "flat then wavy" else 1e6 + 3 * X[:, 0]
    model = TreedGPRegressor(chains=2, draws=60, tune=200, random_state=0).fit(X, y)
    mean, std = model.predict(N, return_std=True)
    joint_mean, cov = model.predict(N, return_cov=True)
    assert joint_mean == pytest.approx(mean, rel=1e-9, abs=1e-9)
    assert np.diag(cov) == pytest.approx(std**2, rel=1e-6, abs=0)


def test_rows_are_predicted_alone_as_together(fit):
    model, X = fit
    predictor = model.posterior_.predictor
    together = predictor.mean_and_variance(X)
    for i in range(len(X)):
        alone = predictor.mean_and_variance(X[i : i + 1])
        assert [values[0] for values in alone] == pytest.approx([values[i] for values in together], rel=1e-8)


def test_blocks_of_rows_do_not_show(fit, monkeypatch):
    model, X = fit
    X = np.tile(X, (40, 1))
    predictor = model.posterior_.predictor
    whole, quantiles = predictor.mean_and_variance(X), predictor.quantiles(X, np.array([0.1, 0.9]))
    monkeypatch.setattr(predict, "BLOCK_ENTRIES", 1)  # 256 rows a block
    assert np.allclose(predictor.mean_and_variance(X), whole, rtol=1e-9)
    assert np.allclose(predictor.quantiles(X, np.array([0.1, 0.9])), quantiles, rtol=1e-9)


def test_no_rows_give_no_predictions(fit):
    predictor = fit[0].posterior_.predictor
    nothing = np.empty((0, 2))
    assert [values.shape for values in predictor.mean_and_variance(nothing)] == [(0,), (0,)]
    assert predictor.quantiles(nothing, np.array([0.5])).shape == (0, 1)
    assert predictor.joint(nothing)[1].shape == (0, 0)


def test_the_joint_law_has_a_row_limit(fit, monkeypatch):
    model, X = fit
    monkeypatch.setattr(predict, "JOINT_ROWS", 10)
    for call in (
        lambda: model.predict(X, return_cov=True),
        lambda: model.sample_posterior(X),
        lambda: model.sample_y(X),
    ):
        with pytest.raises(DataError, match=r"15 rows.*at most 10.*fewer rows"):
            call()
    assert model.predict(X, return_std=True)[1].shape == (15,)


# --- draws ---


def test_chunks_of_draws_join_into_the_same_draws(fit):
    model, _ = fit
    arrays = model.posterior_.draws.arrays
    pieces = []
    for begin, end in ((0, 1), (1, 40), (40, 40), (40, 80)):
        nodes = slice(arrays["node_start"][begin], arrays["node_start"][end])
        leaves = slice((nodes.start + begin) // 2, (nodes.stop + end) // 2)
        piece = {name: arrays[name][begin:end] for name in ("beta0", "w_inv", "hyper", "log_posterior")}
        piece |= {name: arrays[name][nodes] for name in ("column", "cut")}
        piece |= {name: arrays[name][leaves] for name in ("range", "gp", "nugget", "sigma2", "tau2", "beta")}
        piece["node_start"] = arrays["node_start"][begin : end + 1] - nodes.start
        pieces.append(piece)
    joined = concatenate(pieces)
    assert joined.keys() == arrays.keys()
    for name, values in arrays.items():
        assert np.array_equal(joined[name], values), name
        assert joined[name].dtype == values.dtype, name


@pytest.mark.parametrize("n", [1, 2, 7, 80, 81, None])
def test_thinned_draws_are_spread_over_all_chains(fit, n):
    draws = fit[0].posterior_.draws
    chosen = draws.thinned(n)
    assert len(chosen) == min(n or 80, 80)
    assert len(np.unique(chosen)) == len(chosen)
    per_chain = np.bincount(chosen // draws.n_draws, minlength=2)
    assert abs(per_chain[0] - per_chain[1]) <= 1


def test_values_by_chain():
    draws = Draws({"log_posterior": np.arange(6.0), "node_start": np.array([0, 1, 2, 5, 6, 7, 12])}, n_chains=2)
    assert draws.log_posterior.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert draws.n_leaves.tolist() == [[1, 1, 2], [1, 1, 3]]
