"""Joint-distribution tests (Geweke 2004, "Getting it right", JASA 99, 799-804).

The shipped round, alternating with a new response from the model, leaves the joint law of parameters and data
unchanged. Chains of that, started from exact draws of the joint law, are compared with direct simulation by the
oracle, in the location, spread and pairwise products of the ranks of some 40 bounded statistics; the pivots are
also held to the uniform law they have exactly. False-fail rate of each gate: see gates.py.

Measured in the quick form (4 chains of 50,000 sweeps, every 50th kept): 1600 to 4000 effective draws of every
statistic, 3600 or more of half of them. What errors that is enough to see: test_sensitivity.py.
"""

import numpy as np
import pytest

from oracle.bridge import core_problem, core_state
from statistical.gates import assert_gate, compare_with_direct, ks_uniform, thin_by_ess
from statistical.models import KINDS, PRIORS, make_case
from statistical.summaries import PIVOTS, chain_draws, direct_draws, statistics, table
from treedgp import _testing

CHAINS = 4
QUICK = [
    ("constant", "b0"),
    ("linear", "bmzt"),
    ("gp", "bmzt"),
    ("llm", "b0"),
    ("matern", "bmznot"),
    ("alike", "bmznot"),
]


def joint_chain(case, start, seed, sweeps, thin):
    """The draws of one chain from an exact draw of the joint law."""
    problem = core_problem(case.model, start.state.hyper, case.tau2)
    state = core_state(start.state, start.sigma2, start.beta)
    (arrays,), responses = _testing.joint_chain(problem, state, seed, sweeps, thin)
    return chain_draws(arrays, responses)


def simulate_by_chains(case, seed, sweeps, thin):
    """{statistic: values} of CHAINS chains, one after the other."""
    starts = direct_draws(case, CHAINS, np.random.default_rng(seed))
    chains = (joint_chain(case, start, seed + i, sweeps, thin) for i, start in enumerate(starts))
    return table(statistics(case.model, draw) for chain in chains for draw in chain)


def simulate_directly(case, n, seed):
    rng = np.random.default_rng([seed, 1])  # not the chains' starts again
    return table(statistics(case.model, draw) for draw in direct_draws(case, n, rng))


def pivot_comparisons(case, chain):
    names = [*PIVOTS, "tau2 given (a, g)"] if case.model.tau2_random else PIVOTS
    chains = {name: chain[name].reshape(CHAINS, -1) for name in names}
    return [ks_uniform(name, np.concatenate([thin_by_ess(v) for v in chains[name]])) for name in names]


def joint_comparisons(case, seed, sweeps, thin):
    chain = simulate_by_chains(case, seed, sweeps, thin)
    direct = simulate_directly(case, CHAINS * sweeps // thin, seed)
    return compare_with_direct(chain, direct, (CHAINS, -1)) + pivot_comparisons(case, chain)


@pytest.mark.parametrize(("kind", "prior"), QUICK)
def test_the_round_keeps_the_joint_law(kind, prior, request):
    case = make_case(kind, prior)
    assert_gate(lambda seed, scale: joint_comparisons(case, seed, 50_000 * scale, 50), request.node.name)


@pytest.mark.long
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_round_keeps_the_joint_law_long(kind, prior, request):
    case = make_case(kind, prior)
    assert_gate(lambda seed, scale: joint_comparisons(case, seed, 1_000_000 * scale, 100), request.node.name)
