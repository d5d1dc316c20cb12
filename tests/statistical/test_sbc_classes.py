"""Simulation-based calibration of classifier runs: from the root, annealed and adaptive tuning, then draws.

The truth, drawn from the prior, has a uniform rank among posterior draws given the labels simulated from it: class
probabilities at a training row (the softmax of its latents) and at a new point (of latents drawn there, by the oracle
for the truth, from the core's moments for the draws), number of leaves, sigma2, and log p(labels | latents). Ties are
broken at random; draws are thinned to about independence. False-fail rate of each gate: see gates.py.
"""

import numpy as np
import pytest

from oracle.class_model import core_problem, draw_all, latent_law, log_softmax, with_model
from oracle.leaf import design, noise, strict_correlation
from oracle.rules import leaf_rows
from statistical.class_models import SAMPLERS, make_class_case
from statistical.gates import assert_gate, chi2_uniform, random_rank, rejected, seed_of
from statistical.summaries import table
from treedgp import _core
from treedgp.posterior.diagnostics import ess_bulk

AT = 5  # the training row; the new point lies next to it, on the same side of every cut
NEAR = np.array([[0.47, 0.43]])
TUNE, STORED, FEWEST_RANKED, MOST_RANKED = 300, 1000, 20, 40
ROUNDS = {"polya_gamma": 1000, "metropolis": 3000}
CASES = {
    "cgp": make_class_case("cgp", 2, "tau2", learn_g=True, centred=True),
    "ctgp": make_class_case("ctgp", 3, "tau2", centred=True),
    "otgp": make_class_case("otgp", 3, "tau2", learn_g=True, centred=True),
}


def draw_near(case, layer, rng):
    """The latent at NEAR, nugget included, given a layer's latents."""
    model = case.model
    leaf, rows = next((i, list(r)) for i, r in enumerate(leaf_rows(model.split, layer.state.tree)) if AT in r)
    params, hyper = layer.state.params[leaf], layer.state.hyper
    mean, cov = latent_law(model, layer, leaf, tuple(rows))
    F, f = design(model.leaf, model.x[rows]), design(model.leaf, NEAR)
    prior = params.tau2 * np.linalg.inv(hyper.W_inv)
    cross = strict_correlation(model.leaf, NEAR, model.x[rows], params) + f @ prior @ F.T
    here = strict_correlation(model.leaf, NEAR, NEAR, params) + f @ prior @ f.T + noise(params)
    gain = np.linalg.solve(cov, cross.T).T
    value = (f @ hyper.beta0 + gain @ (layer.y[rows] - mean))[0]
    return rng.normal(value, np.sqrt(layer.sigma2[leaf] * (here - gain @ cross.T)[0, 0]))


def statistics(latents, near, labels, leaves, sigma2):
    """{name: (draw)} of latents (class but the base, draw, row) and near, leaves, sigma2 (class but the base, draw)."""
    log_p = log_softmax(latents)
    at_row, at_new = log_p[:, :, AT], log_softmax(near)
    out = {"log p(labels | f)": log_p[labels, :, np.arange(len(labels))].sum(axis=0)}
    for m in range(len(latents)):
        out |= {f"p(class {m}) at a row": at_row[m], f"p(class {m}) at a new point": at_new[m]}
        out |= {f"leaves of {m}": leaves[m], f"sigma2 of {m}": sigma2[m]}
    return out


def true_statistics(case, truth, rng):
    near = np.array([[draw_near(case, layer, rng)] for layer in truth.layers])
    leaves = [[len(layer.state.params)] for layer in truth.layers]
    return statistics(truth.latents[:, None], near, truth.labels, leaves, [layer.sigma2[:1] for layer in truth.layers])


def posterior_statistics(case, problem, draws, labels, rng):
    codes = case.model.split.codes[[AT]].astype(np.int32)
    moments = [_core.moments(problem, layer, 0, STORED, NEAR, codes)[..., 0] for layer in draws]
    near = np.array([rng.normal(mean, np.sqrt(var_y)) for mean, _, var_y in moments])
    starts = [(layer["node_start"] + np.arange(STORED + 1)) // 2 for layer in draws]
    sigma2 = [layer["sigma2"][s[:-1]] for layer, s in zip(draws, starts, strict=True)]
    latents = np.array([layer["latent"] for layer in draws])
    return statistics(latents, near, labels, [np.diff(s) for s in starts], sigma2)


def independent(values):
    """Indices of draws two autocorrelation times apart, but not more or fewer than are ranked."""
    effective = min(ess_bulk(v[None].astype(float)) for v in values.values() if np.ptp(v) > 0)
    step = int(STORED / np.clip(effective / 2, FEWEST_RANKED, MOST_RANKED))
    return np.arange(step - 1, STORED, step)


def ranks_of_one(case, truth, sampler, seed, rounds, rng):
    """{statistic: rank of the truth, uniform on (0, 1)}."""
    problem = core_problem(case, truth.labels, sampler, tune=TUNE, thin=rounds // STORED, tree_moves=2, range_moves=2)
    state = _core.start(problem, seed, 0, False)
    draws = _core.run(problem, state, seed, 0, 0, TUNE + rounds)["draws"]
    drawn = posterior_statistics(case, problem, draws, truth.labels, rng)
    kept = independent(drawn)
    true = true_statistics(case, truth, rng)
    return {name: random_rank(true[name][0], drawn[name][kept], rng) for name in drawn}


def calibration(case, sampler, seed, simulations, rounds, bins, truth_case=None):
    """`truth_case`: where the truth comes from, if not from the model that is fitted."""
    rng, of_truth = np.random.default_rng(seed), np.random.default_rng([seed, 1])
    truths = (draw_all(truth_case or case, of_truth) for _ in range(simulations))
    ranks = table(ranks_of_one(case, truth, sampler, seed + i, rounds, rng) for i, truth in enumerate(truths))
    return [chi2_uniform(f"rank of {name}", values, bins) for name, values in ranks.items()]


@pytest.mark.parametrize(
    ("family", "sampler"), [("cgp", "metropolis"), ("ctgp", "polya_gamma"), ("otgp", "polya_gamma")]
)
def test_classifier_runs_are_calibrated(family, sampler, request):
    rounds, name = ROUNDS[sampler], request.node.name
    assert_gate(lambda seed, scale: calibration(CASES[family], sampler, seed, 100 * scale, rounds, 10), name)


@pytest.mark.long
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("family", CASES)
def test_classifier_runs_are_calibrated_long(family, sampler, request):
    rounds, name = 3 * ROUNDS[sampler], request.node.name
    assert_gate(lambda seed, scale: calibration(CASES[family], sampler, seed, 2000 * scale, rounds, 40), name)


def test_calibration_rejects_a_wrong_amplitude(request):
    """Truths whose sigma2 is some four times larger than the fitted prior's."""
    case = CASES["cgp"]
    truth_case = with_model(case, s2_rates=(None, 1 / 48))
    comparisons = calibration(case, "polya_gamma", seed_of(request.node.name), 100, 1000, 10, truth_case)
    assert rejected(comparisons)
