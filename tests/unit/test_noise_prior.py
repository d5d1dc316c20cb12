"""The prior of sigma where g ~ G(g_shape, rate) with a fixed: the classifier's default amplitude."""

import numpy as np
import pytest
from scipy import stats

from treedgp import ConfigError, NoisePrior, Priors, TreedGPClassifier, _core, _testing
from treedgp.model.data import InputEncoder
from treedgp.model.priors import CLASS_PRIORS
from treedgp.model.problem import Problem
from treedgp.model.spec import ClassSpec, ModelSpec, Schedule
from treedgp.posterior.diagnostics import ess_bulk

FLOOR = 1e-10
X = np.linspace(0, 1, 8)[:, None]
Y = np.sin(5 * X[:, 0])


def core(noise, prior_only=False):
    spec = ModelSpec(leaf="linear", tree=False, priors=Priors(noise=noise), schedule=Schedule(tune=500, anneal=False))
    problem = Problem.make(spec, InputEncoder.learn(X, ["x"], set(), (0,), (0,)), X, Y)
    return _core.Problem(
        spec=problem.spec.core_spec(1),
        family=_core.Family.gaussian,
        linear_mean=True,
        min_leaf=3,
        x=problem.x,
        z=problem.z,
        codes=problem.codes,
        categorical=[False],
        sizes=[8],
        prior_only=prior_only,
    )


@pytest.mark.parametrize(("scale", "degrees"), [(100.0, 5.0), (0.3, 3.0)])
def test_half_t_gives_sigma_that_law(scale, degrees):
    prior = NoisePrior.half_t(scale, degrees)
    rng = np.random.default_rng(7)
    g = rng.gamma(prior.g_shape, 1 / prior.rates[1], size=20_000)
    sigma = np.sqrt(g / 2 / rng.gamma(prior.a / 2, size=g.size))
    law = stats.t(df=degrees, scale=scale)
    assert prior.rates[0] is None  # a stays
    assert stats.kstest(sigma, lambda x: 2 * law.cdf(x) - 1).pvalue > 1e-4
    assert stats.kstest(1.1 * sigma, lambda x: 2 * law.cdf(x) - 1).pvalue < 1e-4  # the check sees a tenth


@pytest.mark.parametrize("shape", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("g", [1e-4, 0.2, 40.0])
@pytest.mark.parametrize("rates", [(None, 0.02), (0.3, 0.02)])
def test_the_density_of_g_and_a_is_in_the_log_posterior(shape, g, rates):
    """Against the same state with nothing learned."""
    learned, fixed = core(NoisePrior(5.0, 10.0, rates, shape)), core(NoisePrior(5.0, 10.0, None))
    state = _core.start(fixed, 1, 0, False)
    state[0]["hyper"][0, 0], state[0]["hyper"][0, 1] = 6.0, g
    with_prior, without = (_testing.leaf_terms(p, state)["log_posterior"] for p in (learned, fixed))
    expected = stats.gamma.logpdf(g - FLOOR, shape, scale=1 / rates[1])
    if rates[0] is not None:
        expected += stats.expon.logpdf(6.0 - 2, scale=1 / rates[0])
    assert with_prior - without == pytest.approx(expected, abs=1e-9)


def test_a_chain_without_data_draws_g_from_its_prior():
    """Shares of draws below four quantiles, within 4 standard errors: by chance one run in 4000 fails."""
    noise = NoisePrior(a=5.0, g=3.0, rates=(None, 0.1), g_shape=0.5)
    problem = core(noise, prior_only=True)
    hyper = [
        _core.run(problem, _core.start(problem, 11, chain, False), 11, chain, 0, 20_500)["draws"][0]["hyper"]
        for chain in range(2)
    ]
    a, g = np.stack(hyper)[..., 0], np.stack(hyper)[..., 1]
    assert (a == 5).all()
    for level in (0.1, 0.4, 0.7, 0.95):
        below = (g - FLOOR < stats.gamma.ppf(level, 0.5, scale=10.0)).astype(float)
        effective = ess_bulk(below)
        assert effective > 200
        assert abs(below.mean() - level) < 4 * np.sqrt(level * (1 - level) / effective)


def test_the_classifier_has_it_by_default():
    x = np.linspace(0, 1, 30)[:, None]
    model = TreedGPClassifier(draws=10, tune=10, chains=1, random_state=0).fit(x, x[:, 0] > 0.4)
    assert model.priors_ == CLASS_PRIORS
    hyper = model.posterior_.draws.arrays["hyper"]
    assert (hyper[:, 0] == 5).all()
    assert len(np.unique(hyper[:, 1])) > 1


@pytest.mark.parametrize("bad", [0, -1.0, np.inf, "wide"])
def test_half_t_refuses_what_is_no_scale(bad):
    with pytest.raises(ConfigError, match=r"scale and degrees must be positive"):
        NoisePrior.half_t(bad)
    with pytest.raises(ConfigError, match="g_shape must be positive"):
        NoisePrior(g_shape=bad)


@pytest.mark.parametrize("bad", [1e-200, 9e-5, 1e200])
def test_half_t_refuses_scales_near_the_floor_or_whose_squares_are_no_numbers(bad):
    with pytest.raises(ConfigError, match="scale must lie between 1e-4 and 1e100"):
        NoisePrior.half_t(bad)


@pytest.mark.parametrize("bad", [5e-324, 1.7e308])
def test_half_t_refuses_degrees_that_leave_no_rate(bad):
    with pytest.raises(ConfigError, match=r"degrees must lie between 0\.1 and 1e6"):
        NoisePrior.half_t(1.0, bad)


@pytest.mark.parametrize(
    ("settings", "n_classes", "tree_moves"),
    [
        ({}, 3, 1),
        ({"tree_sharing": "shared"}, 2, 1),
        ({"tree_sharing": "shared"}, 3, 1),
        ({"latent_sampler": "metropolis"}, 3, 3),
    ],
)
def test_where_trees_have_bridges_they_need_fewer_other_moves(settings, n_classes, tree_moves):
    spec = ModelSpec(mean="constant", priors=CLASS_PRIORS, classes=ClassSpec(**settings))
    labels = (np.arange(8) % n_classes).astype(float)
    problem = Problem.make(spec, InputEncoder.learn(X, ["x"], set(), (0,), (0,)), X, labels, n_classes=n_classes)
    assert problem.spec.schedule.tree_moves == tree_moves


@pytest.mark.parametrize(("rows", "sweeps"), [(1, 8), (100, 8), (200, 4), (401, 1), (5000, 1)])
def test_few_rows_get_more_sweeps(rows, sweeps):
    assert Schedule().resolved(2, rows).latent_sweeps == sweeps
    assert Schedule(latent_sweeps=3).resolved(2, rows).latent_sweeps == 3
    assert Schedule().resolved(2).latent_sweeps == 1  # no latents


@pytest.mark.parametrize("bad", [0, 1.5, True])
def test_sweeps_are_counted(bad):
    with pytest.raises(ConfigError, match="latent_sweeps"):
        Schedule(latent_sweeps=bad)


def test_a_round_of_two_sweeps_is_two_turns_of_every_class():
    spec = ModelSpec(mean="constant", priors=CLASS_PRIORS, classes=ClassSpec(), schedule=Schedule(latent_sweeps=2))
    encoder = InputEncoder.learn(X, ["x"], set(), (0,), (0,))
    labels = (np.arange(8) % 3).astype(float)
    problem = Problem.make(spec, encoder, X, labels, n_classes=3)
    out = _core.run(problem.core, _core.start(problem.core, 1, 0, False), 1, 0, 0, 1)
    tree_moves = out["counts"][:6, 0].sum()
    assert tree_moves == 2 * 2 * problem.spec.schedule.tree_moves
