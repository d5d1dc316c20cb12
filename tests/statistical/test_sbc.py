"""Simulation-based calibration (Talts et al. 2018) of real runs: from the root, annealed and adaptive tuning,
then draws, with the hierarchical coefficient prior.

The truth, drawn from the prior, has a uniform rank among posterior draws given the response simulated from it.
f at a training row and at a new one, drawn given the truth by the oracle, is ranked among predictions of the
core. Ties are broken at random; draws are thinned to about independence. Ranks are held to the uniform law by a
chi-square test per statistic. False-fail rate of each gate: see gates.py.

Measured in the quick form, least effective size over seven traces of a run: median 196, 213, 109, 112 (constant,
linear, gp, llm). At least 20 and at most 40 draws are ranked, two autocorrelation times apart; in the 0 to 10% of
the runs with an effective size below 40 they are closer. The long form's runs are three times longer.
"""

from dataclasses import replace

import numpy as np
import pytest

from oracle.bridge import core_problem
from oracle.leaf import predict
from oracle.rules import leaf_rows
from oracle.target import log_target
from statistical.gates import assert_gate, chi2_uniform, random_rank
from statistical.models import make_case
from statistical.summaries import chain_draws, direct_draws, statistics, table, take
from treedgp import _core
from treedgp.posterior.diagnostics import ess_bulk

FAMILIES = ("constant", "linear", "gp", "llm")
RANKED = (
    *("leaves", "depth", "root rule", "categorical share", "g", "d[0]", "b[0]", "sigma2", "tau2", "beta[0]"),
    *("beta0[0]", "log|W|", "a_s", "g_s", "a_t", "g_t", "beta pivot", "residual pivot", "log likelihood"),
    *("log posterior", "f[0]", "f[1]"),
)
AT = 5  # f is predicted at this training row and at a point next to it, on the same side of every cut
NEAR = np.array([[0.44, 0.4], [0.47, 0.4]])
TUNE = 600
ROUNDS = {"constant": 6_000, "linear": 5_000, "gp": 3_000, "llm": 3_000}
STORED, FEWEST_RANKED, MOST_RANKED = 1000, 20, 40


def draw_f(model, truth, rng):
    """f at NEAR given the truth and its response."""
    state = truth.state
    leaf, rows = next((i, r) for i, r in enumerate(leaf_rows(model.split, state.tree)) if AT in r)
    x, y = model.x[list(rows)], truth.y[list(rows)]
    mean, cov = predict(model.leaf, state.hyper, x, y, state.params[leaf], truth.sigma2[leaf], NEAR)
    return rng.normal(mean, np.sqrt(np.maximum(np.diag(cov), 0)))


def sample_posterior(model, seed, rounds):
    """A run as users get it: the root, tuning, then draws."""
    problem = core_problem(model, tune=TUNE, thin=rounds // STORED, tree_moves=2)
    state = _core.start(problem, seed, 0, False)
    return problem, _core.run(problem, state, seed, 0, 0, TUNE + rounds)["draws"][0]


def effective_draws(draws):
    """The least over the log posterior, the leaves, (a_s, g_s, a_t, g_t) and beta0[0]."""
    leaves = np.diff(draws["node_start"])
    traces = [draws["log_posterior"], leaves, *draws["hyper"].T, draws["beta0"][:, 0]]
    return min(ess_bulk(trace[None].astype(float)) for trace in traces if np.ptp(trace) > 0)


def independent_draws(draws):
    """The draws two autocorrelation times apart, but not more or fewer than are ranked."""
    n = np.clip(effective_draws(draws) / 2, FEWEST_RANKED, MOST_RANKED)
    step = int(STORED / n)
    return take(draws, np.arange(step - 1, STORED, step))


def predict_f(model, problem, draws, rng):
    """f at NEAR, a draw for each draw."""
    codes = np.repeat(model.split.codes[[AT]], len(NEAR), axis=0).astype(np.int32)
    mean, var_f, _ = _core.moments(problem, draws, 0, len(draws["log_posterior"]), NEAR, codes)
    return rng.normal(mean, np.sqrt(var_f))


def with_log_posterior_and_f(values, log_posterior, f):
    return values | {"log posterior": log_posterior} | {f"f[{i}]": f[..., i] for i in range(len(NEAR))}


def true_statistics(model, truth, rng):
    f = draw_f(model, truth, rng)
    return with_log_posterior_and_f(statistics(model, truth), log_target(model, truth.state), f)


def posterior_statistics(model, problem, draws, rng):
    responses = [model.y] * len(draws["log_posterior"])
    values = table(statistics(model, draw) for draw in chain_draws(draws, responses))
    return with_log_posterior_and_f(values, draws["log_posterior"], predict_f(model, problem, draws, rng))


def ranks_of_one(case, truth, seed, rounds, rng):
    """{statistic: rank of the truth, uniform on (0, 1)} of one simulated response."""
    model = replace(case.model, y=truth.y)
    problem, draws = sample_posterior(model, seed, rounds)
    true = true_statistics(model, truth, rng)
    drawn = posterior_statistics(model, problem, independent_draws(draws), rng)
    return {name: random_rank(true[name], drawn[name], rng) for name in RANKED if name in drawn}


def calibration(case, seed, simulations, rounds, bins, truth_case=None):
    """`truth_case`: where the truth comes from, if not from the model that is fitted."""
    rng = np.random.default_rng(seed)
    truths = direct_draws(truth_case or case, simulations, np.random.default_rng([seed, 1]))
    ranks = table(ranks_of_one(case, t, seed + i, rounds, rng) for i, t in enumerate(truths))
    return [chi2_uniform(f"rank of {name}", values, bins) for name, values in ranks.items()]


@pytest.mark.parametrize("kind", FAMILIES)
def test_runs_are_calibrated(kind, request):
    case = make_case(kind, "b0")
    assert_gate(lambda seed, scale: calibration(case, seed, 120 * scale, ROUNDS[kind], 12), request.node.name)


@pytest.mark.long
@pytest.mark.parametrize("kind", FAMILIES)
def test_runs_are_calibrated_long(kind, request):
    case = make_case(kind, "b0")
    assert_gate(lambda seed, scale: calibration(case, seed, 2000 * scale, 3 * ROUNDS[kind], 40), request.node.name)
