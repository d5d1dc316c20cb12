"""Likelihood off: what is left of the sampler must return the prior.

Chains from exact prior draws are compared with direct simulation by the oracle in all statistics of the state,
and with the prior's own distribution functions where it has them. False-fail rate of each gate: see gates.py.

Measured in the quick form (4 chains of 60,000 rounds, every 60th kept): at least 3200 effective draws of every
statistic.
"""

from collections import Counter

import numpy as np
import pytest
from scipy.stats import betaprime, chi2, expon, gamma, norm

from oracle.bridge import core_problem, core_state
from oracle.priors import p_linear
from statistical.gates import assert_gate, chi2_counts, compare_with_direct, ks_uniform, thin_by_ess
from statistical.models import KINDS, PRIORS, make_case
from statistical.summaries import PIVOTS, chain_draws, direct_draws, statistics, table
from treedgp import _core

CHAINS = 4
QUICK = [("llm", "b0"), ("matern", "bmzt"), ("alike", "bmzt")]
THIN = 60


def prior_statistics(case, draws):
    return table(statistics(case.model, draw, with_response=False) for draw in draws)


def prior_chain(case, start, seed, rounds):
    """The draws of a chain that sees no data, from an exact prior draw."""
    problem = core_problem(case.model, start.state.hyper, case.tau2, prior_only=True, tune=0, thin=THIN)
    state = core_state(start.state, start.sigma2, start.beta)
    arrays = _core.run(problem, state, seed, 0, 0, rounds)["draws"][0]
    return chain_draws(arrays, np.zeros((rounds // THIN, len(case.model.y))))


def mixture_cdf(components, values):
    return sum(w * gamma.cdf(values, shape, scale=1 / rate) for _, w, shape, rate in components)


def range_cdf(prior, values):
    """Of one range; an alike one is a ratio of gammas."""
    if prior.alike is None:
        return mixture_cdf(prior.d, values)
    return sum(w * betaprime.cdf(values * b / prior.alike, a, prior.alike) for _, w, a, b in prior.d)


def boolean_cdf(case, d, b, rng):
    """b given d, made continuous: uniform on (0, p) if b = 0, on (p, 1) if b = 1."""
    p, v = p_linear(case.model.prior.limiting, d), rng.random(len(d))
    return np.where(b == 0, p * v, p + (1 - p) * v)


def closed_forms(case, s, rng):
    """{statistic: its prior distribution function at the chain's values}, all uniform."""
    model, m = case.model, len(case.fixed.beta0)
    out = {name: s[name] for name in PIVOTS if name in s}
    if model.prior.n_range > 0:
        out["g"] = mixture_cdf(model.prior.g, s["g"])
    for i in range(model.prior.n_range):
        out[f"d[{i}]"] = range_cdf(model.prior, s[f"d[{i}]"])
        if model.prior.limiting is not None:
            out[f"b[{i}] given d[{i}]"] = boolean_cdf(case, s[f"d[{i}]"], s[f"b[{i}]"], rng)
    if model.tau2_random:
        out["tau2 given (a, g)"] = s["tau2 given (a, g)"]
    if model.leaf.coef == "hierarchical":
        for i in range(m):
            out[f"beta0[{i}]"] = norm.cdf(s[f"beta0[{i}]"])
            out[f"W_inv[{i},{i}]"] = chi2.cdf(2 * (m + 1) * s[f"W_inv[{i},{i}]"], m + 1)
    for rates, (a, g) in ((model.s2_rates, ("a_s", "g_s")), (model.tau2_rates, ("a_t", "g_t"))):
        if rates is not None:
            out[a], out[g] = expon.cdf(s[a] - 2, scale=1 / rates[0]), expon.cdf(s[g], scale=1 / rates[1])
    return out


def thinned(values):
    """The chains' draws one after the other, each thinned to about independence."""
    return np.concatenate([thin_by_ess(v) for v in values.reshape(CHAINS, -1)])


def count_comparisons(chain, direct):
    """The whole laws of the number of leaves, the depth and the root's rule."""
    comparisons = []
    for name in ("leaves", "depth", "root rule"):
        seen, expected = Counter(thinned(chain[name])), Counter(direct[name])
        values = sorted(seen | expected)
        comparisons.append(chi2_counts(name, [seen[v] for v in values], [expected[v] for v in values]))
    return comparisons


def prior_comparisons(case, seed, rounds):
    rng = np.random.default_rng(seed)
    starts = list(direct_draws(case, CHAINS, rng))
    chains = (prior_chain(case, start, seed + i, rounds) for i, start in enumerate(starts))
    chain = prior_statistics(case, (draw for draws in chains for draw in draws))
    direct = prior_statistics(case, direct_draws(case, CHAINS * rounds // THIN, rng))
    uniform = closed_forms(case, chain, rng)
    return [
        *compare_with_direct(chain, direct, (CHAINS, -1)),
        *count_comparisons(chain, direct),
        *[ks_uniform(name, thinned(values)) for name, values in uniform.items()],
    ]


@pytest.mark.parametrize(("kind", "prior"), QUICK)
def test_without_data_the_chain_returns_the_prior(kind, prior, request):
    case = make_case(kind, prior)
    assert_gate(lambda seed, scale: prior_comparisons(case, seed, 60_000 * scale), request.node.name)


@pytest.mark.long
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", KINDS)
def test_without_data_the_chain_returns_the_prior_long(kind, prior, request):
    case = make_case(kind, prior)
    assert_gate(lambda seed, scale: prior_comparisons(case, seed, 600_000 * scale), request.node.name)
