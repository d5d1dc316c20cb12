"""Bridges: what a leaf gives the labels, estimated from sites, against a sum over a grid. Rising estimates are unbiased
and weigh the latents right; descending ones, from latents of the posterior, are unbiased for the reciprocal."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from oracle.class_model import core_problem
from statistical.class_models import make_class_case, split_data
from statistical.gates import Comparison, assert_gate, rejected, seed_of
from treedgp import _core, _testing
from unit.test_ellipses import SITES, prior_law, state_of
from unit.test_latent_draw import make_case

BATCHES = 50
AMPLITUDES = {"small": 1.0, "large": 15.0}  # of the latents: large ones are far from Gaussian given labels


def by_grid(case, draw, turn):
    """The integral of prod_i sigmoid(+-(f_i - others_i)) under the prior of three latents, and the mean of f."""
    mean, cov, _ = prior_law(case, draw, turn)
    grid = np.linspace(-6.5, 6.5, 131) * np.sqrt(cov.max())
    f = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
    latents = np.array([layer.y for layer in draw.layers])
    others = np.logaddexp.reduce(np.vstack([np.delete(latents, turn, axis=0), np.zeros(3)]))
    log_p = multivariate_normal(mean, cov).logpdf(f)
    log_p -= np.logaddexp(0, np.where(draw.labels == turn, -1, 1) * (f - others)).sum(axis=1)
    p = np.exp(log_p)
    return p.sum() * (grid[1] - grid[0]) ** 3, p @ f / p.sum()


def z_score(values, expected):
    batches = values.reshape(BATCHES, -1).mean(axis=1)
    return (batches.mean() - expected) / (batches.std(ddof=1) / np.sqrt(BATCHES))


def rising(problem, state, turn, integral, mean, seed, draws):
    """Mean estimate 1, in units of the integral, and mean latents weighted by the estimate."""
    estimates, f = _testing.log_bridge(problem, state, turn, True, seed, draws)
    weight = np.exp(estimates) / integral
    scores = [z_score(weight, 1.0), *(z_score(weight * (f[:, i] - mean[i]), 0.0) for i in range(3))]
    return [Comparison(f"rising {i}", 2 * norm.sf(abs(z))) for i, z in enumerate(scores)]


def descending(problem, state, turn, integral, seed, draws):
    """Mean of the reciprocal, from latents that the labels have seen."""
    latents = _testing.slide_latents(problem, state, turn, seed, draws)
    reciprocals = []
    for i, f in enumerate(latents):
        state[turn]["latent"] = f[None]
        reciprocals.append(np.exp(-_testing.log_bridge(problem, state, turn, False, seed + i, 1)[0][0]))
    return [Comparison("descending", 2 * norm.sf(abs(z_score(integral * np.array(reciprocals), 1.0))))]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("leaf", ["gp", "limiting"])
@pytest.mark.parametrize(("sites", "amplitude"), [*((s, "small") for s in SITES), ("uneven", "large")])
def test_estimates_are_unbiased_both_ways(sites, amplitude, leaf, n_classes, request):
    rng = np.random.default_rng(seed_of(request.node.name))
    case, draw = make_case(3, "gaussian", "constant", leaf, rng, n_classes=n_classes)
    scaled = (replace(layer, sigma2=layer.sigma2 * AMPLITUDES[amplitude] ** 2) for layer in draw.layers)
    draw = type(draw)(tuple(scaled), draw.labels)
    problem = core_problem(case, draw.labels, "polya_gamma")
    state, turn = state_of(problem, draw, *SITES[sites]), n_classes - 2
    integral, mean = by_grid(case, draw, turn)

    def attempt(seed, scale):
        return [
            *rising(problem, state, turn, integral, mean, seed, 20_000 * scale),
            *descending(problem, state, turn, integral, seed, 10_000 * scale),
        ]

    assert_gate(attempt, request.node.name)


def test_another_integral_is_seen():
    """That of one label turned over."""
    case, draw = make_case(3, "gaussian", "constant", "gp", np.random.default_rng(1))
    problem = core_problem(case, draw.labels, "polya_gamma")
    state = state_of(problem, draw, *SITES["uneven"])
    other = type(draw)(draw.layers, np.where(np.arange(3) == 1, 1 - draw.labels, draw.labels))
    integral, mean = by_grid(case, draw, 0)
    assert not rejected(rising(problem, state, 0, integral, mean, 1, 5_000))
    assert rejected(rising(problem, state, 0, *by_grid(case, other, 0), 1, 5_000))
    assert rejected(descending(problem, state, 0, by_grid(case, other, 0)[0], 1, 1_000))


def test_a_leaf_that_does_not_factorise_is_refused():
    """Twins without a nugget: a GP has no factor, and a bridge to one is refused like any other move."""
    case = make_class_case("ctgp", 2, "fixed")
    x = np.repeat(case.model.x[::2], 2, axis=0)
    prior = replace(case.model.prior, g=(("atom", 1.0, 0.0),))
    case = replace(case, model=replace(case.model, x=x, prior=prior, split=split_data(x, None, 0.8, 2)))
    problem = core_problem(case, np.arange(len(x)) // 2 % 2, "polya_gamma", tune=0)
    (draws,), _ = _testing.joint_chain(problem, _core.start(problem, 1, 0, True), 1, 1000, 1, bridges=True)
    assert not draws["gp"].any()
    assert len(set(np.diff(draws["node_start"]))) > 1  # limiting leaves grow and are pruned
