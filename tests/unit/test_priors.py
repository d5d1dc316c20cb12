"""Priors: what they check, and what they mean to the core."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import integrate, stats

from treedgp import (
    CoefficientPrior,
    ConfigError,
    LengthscalePrior,
    LimitingPrior,
    NoisePrior,
    NuggetPrior,
    Priors,
    TreePrior,
    _core,
)
from treedgp.model.priors import GammaMixture
from treedgp.model.spec import ModelSpec

CLASSES = (TreePrior, LengthscalePrior, NuggetPrior, NoisePrior, CoefficientPrior, LimitingPrior, Priors)


@pytest.mark.parametrize("cls", CLASSES)
def test_defaults_are_valid_frozen_values(cls):
    assert cls() == cls()
    assert hash(cls()) == hash(cls())
    name = dataclasses.fields(cls)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(cls(), name, 1.0)


def test_defaults_are_the_documented_ones():
    priors = Priors()
    assert (priors.tree.alpha, priors.tree.beta, priors.tree.min_leaf, priors.tree.max_depth) == (0.5, 2, None, None)
    assert priors.lengthscale.components() == [(0.5, 1, 20), (0.5, 10, 10)]
    assert priors.nugget.components() == [(1, 1, 1)]
    assert (priors.noise.a, priors.noise.g, priors.noise.rates) == (5, 10, (0.2, 10))
    assert (priors.coefficients.kind, priors.coefficients.rates) == ("hierarchical", (0.2, 0.1))
    assert (priors.limiting.gamma, priors.limiting.theta1, priors.limiting.theta2) == (10, 0.2, 0.7)


INVERSE_GAMMA = (NoisePrior, CoefficientPrior)
NOT_A_NUMBER = (math.nan, math.inf, "1", None, 10**400)

WRONG = [
    *[(TreePrior, "alpha", value) for value in (0, 1, -0.1, 1.5, *NOT_A_NUMBER)],
    *[(TreePrior, "beta", value) for value in (-1, *NOT_A_NUMBER)],
    *[(TreePrior, "min_leaf", value) for value in (0, -3, 2.5, "10")],
    *[(TreePrior, name, value) for name in ("min_leaf", "max_depth") for value in (0, -1, 1.5, "deep", 2**31)],
    *[(cls, "fixed", value) for cls in (LengthscalePrior, NuggetPrior) for value in (-1, math.nan, math.inf, "1")],
    *[(NuggetPrior, name, value) for name in ("weights", "shapes", "rates") for value in ((0,), (-1,), (math.nan,))],
    *[(NuggetPrior, name, value) for name in ("weights", "shapes", "rates") for value in ((), (1, 1), 1.0, None)],
    *[(LengthscalePrior, name, (1.0,)) for name in ("weights", "shapes", "rates")],
    *[(LengthscalePrior, "alike", value) for value in (0, -1, 0.09, 1e7, math.nan, math.inf, "1", 10**400, (1.0, 2.0))],
    *[
        (cls, name, value)
        for cls in (NoisePrior, CoefficientPrior)
        for name in "ag"
        for value in (0, -1, *NOT_A_NUMBER)
    ],
    *[(cls, name, value) for cls in (NoisePrior, CoefficientPrior) for name, value in (("a", 2.0), ("g", 1e-10))],
    *[(cls, "rates", value) for cls in (NoisePrior, CoefficientPrior) for value in ((1,), (1, 0), (1, math.nan), 3.0)],
    *[(CoefficientPrior, "kind", value) for value in ("bflat", None, 3)],
    (CoefficientPrior, "tau2", 1.0),  # goes with kind="fixed"
    *[(LimitingPrior, name, value) for name in ("gamma", "theta1", "theta2") for value in (0, -1, *NOT_A_NUMBER)],
    (LimitingPrior, "theta1", 0.3),  # theta1 + theta2 = 1
]


@pytest.mark.parametrize(("cls", "name", "value"), WRONG)
def test_a_wrong_value_is_refused_with_its_name(cls, name, value):
    with pytest.raises(ConfigError) as caught:
        cls(**{name: value})
    message = str(caught.value)
    assert cls.__name__ in message
    assert name in message
    assert "must" in message or "goes with" in message
    assert "got" in message


@pytest.mark.parametrize("tau2", [0, -1, *NOT_A_NUMBER[:3]])
def test_a_fixed_tau2_is_positive(tau2):
    with pytest.raises(ConfigError, match=r"tau2.*positive.*got"):
        CoefficientPrior(kind="fixed", tau2=tau2)


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(Priors)])
@pytest.mark.parametrize("value", [None, 3.0, "flat", NoisePrior])
def test_each_part_of_the_priors_has_its_type(field, value):
    with pytest.raises(ConfigError, match=rf"{field}.*got"):
        Priors(**{field: value})


@pytest.mark.parametrize(
    ("prior", "random"),
    [
        (CoefficientPrior(), True),
        (CoefficientPrior(kind="flat"), False),
        (CoefficientPrior(kind="fixed"), True),
        (CoefficientPrior(kind="fixed", tau2=2.0), False),
    ],
)
def test_tau2_is_sampled_where_it_means_something(prior, random):
    assert prior.tau2_random is random
    spec = ModelSpec(priors=Priors(coefficients=prior)).core_spec(2)
    assert spec.leaf.tau2_random is random
    assert spec.leaf.tau2_value == (prior.tau2 or 1.0)


def test_weights_need_not_sum_to_one():
    mixture = GammaMixture(weights=(2, 6), shapes=(1, 2), rates=(3, 4))
    assert mixture.components() == [(0.25, 1, 3), (0.75, 2, 4)]


@pytest.mark.parametrize("prior", [LengthscalePrior(), NuggetPrior(), GammaMixture((1, 3), (0.5, 4), (2, 9))])
def test_the_core_density_is_the_mixture(prior):
    density = _core.ScalarPrior(prior.components())
    x = np.array([1e-8, 0.01, 0.3, 1.0, 5.0])
    expected = sum(w * stats.gamma.pdf(x, a, scale=1 / b) for w, a, b in prior.components())
    assert np.exp([density.log_p(v) for v in x]) == pytest.approx(expected, rel=1e-12)
    total, _ = integrate.quad(lambda u: 2 * u * math.exp(density.log_p(u * u)), 0, 8, limit=200)  # x = u^2
    assert total == pytest.approx(1, abs=1e-7)
    assert density.log_p(0.0) == -math.inf
    assert density.log_p(-1.0) == -math.inf


def test_a_fixed_range_has_nothing_to_be_alike():
    with pytest.raises(ConfigError, match=r"alike.*fixed=0.5"):
        LengthscalePrior(fixed=0.5, alike=2.0)


def p_alike(prior, d):
    """Density of the ranges of a leaf, the integral over its scale by the trapezoidal rule on the log scale."""
    s = np.exp(np.linspace(-40, 12, 20_001))
    p_s = sum(w * stats.gamma.pdf(s, a, scale=1 / b) for w, a, b in prior.components())
    p_d = np.prod([stats.invgamma.pdf(d_i, prior.alike, scale=prior.alike * s) for d_i in d], axis=0)
    return integrate.trapezoid(s * p_s * p_d, np.log(s))


ALIKE = [
    LengthscalePrior(alike=2.0),
    LengthscalePrior(weights=(1.0,), shapes=(1.0,), rates=(2.0,), alike=20.0),
    LengthscalePrior(weights=(1.0, 3.0), shapes=(1.5, 4.0), rates=(3.0, 2.0), alike=0.5),
]


@pytest.mark.parametrize("prior", ALIKE)
@pytest.mark.parametrize("d", [(0.3,), (0.02, 4.0), (0.4, 0.5, 0.45), (1.0, 0.1, 30.0, 0.2)])
def test_the_core_density_of_alike_ranges_is_an_integral_over_their_scale(prior, d):
    density = _core.RangePrior(prior.components(), prior.alike)
    assert math.exp(density.log_p(d)) == pytest.approx(p_alike(prior, d), rel=1e-8)
    assert density.log_p(d) == pytest.approx(density.log_p(d[::-1]), abs=1e-12)


def test_very_large_k_is_one_range_for_all():
    one = LengthscalePrior(weights=(1.0,), shapes=(1.0,), rates=(2.0,), alike=1e6)
    density = _core.RangePrior(one.components(), one.alike)
    apart = [density.log_p((0.5, 0.5 * math.exp(u))) for u in (0.0, 0.002)]
    assert apart[0] - apart[1] == pytest.approx(0.002**2 / 2 * 1e6 / 2, rel=0.02)  # log(d2/d1) has variance 2/k


@pytest.mark.parametrize("prior", ALIKE)
def test_chains_begin_with_ranges_from_their_prior(prior):
    """The joint law of two ranges, drawn one given the other, against direct simulation."""
    spec = ModelSpec(priors=Priors(lengthscale=prior), mean="constant").core_spec(2)
    problem = _core.Problem(
        spec=spec,
        family=_core.Family.gaussian,
        linear_mean=False,
        min_leaf=3,
        x=np.linspace(0, 1, 24).reshape(12, 2),
        z=np.zeros(12),
        codes=np.zeros((12, 1), dtype=np.int32),
        categorical=[False],
        sizes=[1],
    )
    drawn = np.array([_core.start(problem, seed, 0, False)[0]["range"][0] for seed in range(4000)])
    rng = np.random.default_rng(1)
    w, a, b = np.transpose(prior.components())
    j = rng.choice(len(w), size=4000, p=w)
    direct = (rng.gamma(a[j]) / b[j])[:, None] * prior.alike / rng.gamma(prior.alike, size=(4000, 2))
    for statistic in (lambda d: d[:, 0], lambda d: d[:, 1], lambda d: d[:, 0] / d[:, 1], lambda d: d.prod(axis=1)):
        assert stats.ks_2samp(statistic(drawn), statistic(direct)).pvalue > 1e-4  # 1e-3 false fails in 12 comparisons


def test_a_fixed_value_is_an_atom():
    density = _core.ScalarPrior(NuggetPrior(fixed=0.25).components())
    assert density.log_p(0.25) == 0
    assert density.log_p(0.26) == -math.inf


def test_the_core_gets_every_setting():
    priors = Priors(
        tree=TreePrior(alpha=0.7, beta=1.5, min_leaf=4, max_depth=3),
        noise=NoisePrior(a=3, g=4, rates=(0.5, 6)),
        coefficients=CoefficientPrior(a=7, g=8, rates=None),
        limiting=LimitingPrior(gamma=5, theta1=0.1, theta2=0.6),
    )
    model = ModelSpec(priors=priors)
    spec = model.core_spec(2)
    assert (spec.split.alpha, spec.split.beta, spec.split.max_depth) == (0.7, 1.5, 3)
    assert model.min_leaf(2) == 4
    assert (spec.sigma2.a, spec.sigma2.g, spec.sigma2.learn_a, spec.sigma2.learn_g) == (3, 4, True, True)
    assert (spec.sigma2.rate_a, spec.sigma2.rate_g) == (0.5, 6)
    assert (spec.tau2.a, spec.tau2.g, spec.tau2.learn_a, spec.tau2.learn_g) == (7, 8, False, False)
    assert (spec.leaf.limiting.gamma, spec.leaf.limiting.theta1, spec.leaf.limiting.theta2) == (5, 0.1, 0.6)


@pytest.mark.parametrize(
    ("settings", "columns", "m", "n_range", "min_leaf"),
    [
        ({}, 2, 3, 2, 10),
        ({}, 12, 13, 12, 15),
        ({"mean": "constant"}, 12, 1, 12, 10),
        ({"isotropic": True}, 3, 4, 1, 10),
        ({"leaf": "linear"}, 3, 4, 0, 10),
        ({"leaf": "constant"}, 3, 1, 0, 10),
        ({}, 0, 1, 0, 10),
        ({"isotropic": True}, 0, 1, 0, 10),
    ],
)
def test_sizes_of_a_leaf(settings, columns, m, n_range, min_leaf):
    model = ModelSpec(**settings)
    assert model.n_coefficients(columns) == m
    assert model.core_spec(columns).leaf.n_range == n_range
    assert model.min_leaf(columns) == min_leaf


def test_a_model_without_a_tree_never_splits():
    assert ModelSpec(tree=False).core_spec(2).split.alpha == 0


def test_limiting_probability_at_known_ranges():
    spec = ModelSpec().core_spec(1)
    expected = [0.204684995647, 0.212590346973, 0.55, 0.895315004353, 0.899999785868]
    assert [spec.leaf.limiting.p_linear(d) for d in (0, 0.1, 0.5, 1, 2)] == pytest.approx(expected, abs=1e-12)
