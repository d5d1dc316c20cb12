"""The gates can fail, and do not fail falsely.

A sampler of one model, compared with direct simulation of a slightly different one, is what a sampler with a
wrong prior term looks like. Every such gate must reject at once, at less than the size of the quick tests' retry.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import binom

from statistical.gates import (
    Comparison,
    assert_gate,
    chi2_uniform,
    compare_means,
    compare_with_direct,
    random_rank,
    rejected,
    seed_of,
)
from statistical.models import make_case, with_model
from statistical.summaries import direct_draws
from statistical.test_joint import CHAINS, simulate_by_chains, simulate_directly
from statistical.test_prior_recovery import prior_chain, prior_statistics
from statistical.test_sbc import ROUNDS, calibration


def with_split(case, **changes):
    return with_model(case, split=replace(case.model.split, **changes))


def with_leaf_prior(case, **changes):
    return with_model(case, prior=replace(case.model.prior, **changes))


def with_nugget_rate(case, factor):
    ((kind, weight, shape, rate),) = case.model.prior.g
    return with_leaf_prior(case, g=((kind, weight, shape, rate * factor),))


LONG = ("depth penalty 0.5 more", "min_leaf one less", "g_t rate 20% more")
DAMAGE = {
    "alpha 20% less": lambda case: with_split(case, alpha=0.8 * case.model.split.alpha),
    "depth penalty 0.5 more": lambda case: with_split(case, beta=case.model.split.beta + 0.5),
    "min_leaf one less": lambda case: with_split(case, min_leaf=case.model.split.min_leaf - 1),
    "nugget rate 15% more": lambda case: with_nugget_rate(case, 1.15),
    "theta1 0.2 -> 0.28": lambda case: with_leaf_prior(case, limiting=(10.0, 0.28, 0.7)),
    "a_s rate 20% more": lambda case: with_model(case, s2_rates=(0.24, 0.2)),
    "g_t rate 20% more": lambda case: with_model(case, tau2_rates=(0.2, 0.6)),
}


@pytest.fixture(scope="module")
def llm_case():
    return make_case("llm", "b0")


@pytest.fixture(scope="module")
def joint_statistics(llm_case):
    """Chains of the undamaged model, 1.6 times as long as the quick joint test's."""
    return simulate_by_chains(llm_case, seed_of("joint_statistics"), 80_000, 50)


def damages():
    return [pytest.param(name, marks=pytest.mark.long if name in LONG else ()) for name in DAMAGE]


@pytest.mark.parametrize("damage", damages())
def test_the_joint_gate_rejects_a_damaged_model(damage, llm_case, joint_statistics, request):
    direct = simulate_directly(DAMAGE[damage](llm_case), 3000, seed_of(request.node.name))
    assert rejected(compare_with_direct(joint_statistics, direct, (CHAINS, -1)))


def test_the_prior_gate_rejects_a_damaged_tree_prior(llm_case, request):
    seed = seed_of(request.node.name)
    rng = np.random.default_rng(seed)
    (start,) = direct_draws(llm_case, 1, rng)
    chain = prior_statistics(llm_case, prior_chain(llm_case, start, seed, 120_000))
    direct = prior_statistics(llm_case, direct_draws(DAMAGE["alpha 20% less"](llm_case), 4000, rng))
    assert rejected(compare_with_direct(chain, direct, (1, -1)))


def test_calibration_rejects_a_wrong_noise_prior(request):
    """Truths whose sigma2 is some three times larger than the fitted prior's."""
    case = make_case("linear", "b0")
    truth_case = with_model(case, s2_rates=(0.2, 0.06))
    comparisons = calibration(case, seed_of(request.node.name), 120, ROUNDS["linear"] // 2, 12, truth_case)
    assert rejected(comparisons)


# ---- the comparisons themselves


def autoregressive(rng, shape, rho):
    """Stationary chains of x_t = rho x_{t-1} + e_t, of variance 1."""
    e = rng.standard_normal(shape) * np.sqrt(1 - rho**2)
    e[..., 0] /= np.sqrt(1 - rho**2)
    return lfilter([1], [1, -rho], e)


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_p_values_of_correlated_chains_are_honest(rho, request):
    """2000 comparisons of equal laws: 5% below 0.05 and 0.5% below 0.005, within binomial limits at 1e-4."""
    rng = np.random.default_rng(seed_of(request.node.name))
    chains = np.tanh(autoregressive(rng, (2000, 4, 1000), rho))
    direct = np.tanh(rng.standard_normal((2000, 4000)))
    p = np.array([compare_means("", *pair).p_value for pair in zip(chains, direct, strict=True)])
    for level in (0.05, 0.005):
        low, high = binom.ppf([1e-4, 1 - 1e-4], len(p), level)
        assert low <= (p < level).sum() <= high


def test_random_ranks_of_ties_are_uniform(request):
    rng = np.random.default_rng(seed_of(request.node.name))
    u = np.array([random_rank(d[0], d[1:], rng) for d in rng.integers(3, size=(4000, 20))])
    assert not rejected([chi2_uniform("ties", u, 20)])
    assert ((u > 0) & (u < 1)).all()


def test_a_chain_with_few_effective_draws_does_not_pass():
    rng = np.random.default_rng(seed_of("few"))
    chains, direct = np.tanh(autoregressive(rng, (4, 1000), 0.999)), np.tanh(rng.standard_normal(4000))
    assert rejected([compare_means("slow", chains, direct)])


def test_a_gate_is_repeated_once_with_four_times_the_work():
    calls = []

    def attempt(seed, scale):
        calls.append((seed, scale))
        return [Comparison("always", 0.0)]

    with pytest.raises(AssertionError, match="always"):
        assert_gate(attempt, "a name")
    assert calls == [(seed_of("a name"), 1), (seed_of("a name", 1), 4)]


def test_a_p_value_that_is_not_a_number_is_rejected():
    assert rejected([Comparison("undefined", float("nan"))])
