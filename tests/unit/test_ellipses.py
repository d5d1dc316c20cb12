"""Latents that slide on ellipses: whatever the sites, their law is that given the labels, by a sum over a grid. Sites
learn by a step of expectation propagation, against dense algebra."""

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import multivariate_normal, norm

from oracle.class_model import core_problem, core_state, latent_law
from oracle.rules import leaf_rows
from statistical.gates import Comparison, assert_gate, rejected, seed_of
from treedgp import _core, _testing
from unit.test_latent_draw import make_case

SITES = {
    "as good as flat": (np.full(3, 1e-4), np.zeros(3)),
    "off": (np.array([2.0, 1.5, 0.3]), np.array([3.0, -2.0, 0.6])),
    "uneven": (np.array([1e-3, 0.1, 3.0]), np.array([0.0, 0.2, -2.0])),
}


def state_of(problem, draw, precision, shift):
    state = core_state(problem, draw)
    for layer in state:
        layer["site"] = np.column_stack([precision, shift])
    return state


def prior_law(case, draw, turn):
    """Mean and covariance of class `turn`'s latents, and sigma2 by row."""
    layer, n = draw.layers[turn], len(draw.labels)
    mean, cov, sigma2 = np.zeros(n), np.zeros((n, n)), np.zeros(n)
    for leaf, rows in enumerate(map(list, leaf_rows(case.model.split, layer.state.tree))):
        mean[rows], unit = latent_law(case.model, layer, leaf, tuple(rows))
        cov[np.ix_(rows, rows)] = layer.sigma2[leaf] * unit
        sigma2[rows] = layer.sigma2[leaf]
    return mean, cov, sigma2


def exact_moments(case, draw, turn, grid):
    """E f and E f^2 of class `turn` given the labels, three rows, by a sum over a grid."""
    mean, cov, _ = prior_law(case, draw, turn)
    f = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), axis=-1).reshape(-1, 3)
    latents = np.array([layer.y for layer in draw.layers])
    log_p = multivariate_normal(mean, cov).logpdf(f)
    for row, label in enumerate(draw.labels):
        scores = np.zeros((len(f), case.n_latents + 1))
        scores[:, :-1] = latents[:, row]
        scores[:, turn] = f[:, row]
        log_p += log_softmax(scores, axis=1)[:, label]
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    return np.concatenate([p @ f, p @ f**2])


def z_scores(draws, moments):
    """Of the mean of f and f^2, with errors by batches."""
    values = np.concatenate([draws, draws**2], axis=1)
    batches = values.reshape(50, -1, values.shape[1]).mean(axis=1)
    return (batches.mean(axis=0) - moments) / (batches.std(axis=0, ddof=1) / np.sqrt(50))


def comparisons(draws, moments):
    return [Comparison(f"moment {i}", 2 * norm.sf(abs(z))) for i, z in enumerate(z_scores(draws, moments))]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("leaf", ["gp", "limiting"])
@pytest.mark.parametrize("sites", SITES)
def test_the_law_is_that_given_the_labels_whatever_the_sites(sites, leaf, n_classes, request):
    rng = np.random.default_rng(seed_of(request.node.name))
    case, draw = make_case(3, "gaussian", "constant", leaf, rng, n_classes=n_classes)
    problem = core_problem(case, draw.labels, "polya_gamma")
    state, turn = state_of(problem, draw, *SITES[sites]), n_classes - 2
    moments = exact_moments(case, draw, turn, np.linspace(-14, 14, 113))

    def attempt(seed, scale):
        return comparisons(_testing.slide_latents(problem, state, turn, seed, 5_000 * scale), moments)

    assert_gate(attempt, request.node.name)


def test_moments_of_other_labels_are_seen():
    case, draw = make_case(3, "gaussian", "constant", "gp", np.random.default_rng(1))
    problem = core_problem(case, draw.labels, "polya_gamma")
    draws = _testing.slide_latents(problem, state_of(problem, draw, *SITES["uneven"]), 0, 1, 5_000)
    other = type(draw)(draw.layers, np.where(np.arange(3) == 1, 1 - draw.labels, draw.labels))
    assert not rejected(comparisons(draws, exact_moments(case, draw, 0, np.linspace(-14, 14, 113))))
    assert rejected(comparisons(draws, exact_moments(case, other, 0, np.linspace(-14, 14, 113))))


def learned(case, draw, turn, precision, shift, gain):
    """One step of expectation propagation, all sites at once; the logistic curve as a probit of variance 2.89."""
    mean, cov, sigma2 = prior_law(case, draw, turn)
    latents = np.array([layer.y for layer in draw.layers])
    others = np.logaddexp.reduce(np.vstack([np.delete(latents, turn, axis=0), np.zeros(latents.shape[1])]))
    tau, nu = precision / sigma2, shift / np.sqrt(sigma2)  # of f less the others' log sum
    post = np.linalg.inv(np.linalg.inv(cov) + np.diag(tau))
    f = post @ (np.linalg.solve(cov, mean - others) + nu)
    var = np.diag(post)
    rest = 1 / var - tau
    m, v = (f / var - nu) / rest, 1 / rest
    sign = np.where(draw.labels == turn, 1.0, -1.0)
    z = sign * m / np.sqrt(2.89 + v)
    hazard = np.exp(norm.logpdf(z) - norm.logcdf(z))
    tilted_mean = m + sign * v * hazard / np.sqrt(2.89 + v)
    tilted_var = v - v**2 * hazard * (z + hazard) / (2.89 + v)
    old, sigma = np.column_stack([precision, shift]), np.sqrt(sigma2)
    wanted = np.column_stack([(1 / tilted_var - rest) * sigma2, (tilted_mean / tilted_var - m * rest) * sigma])
    return old + gain * (wanted - old)


@pytest.mark.parametrize("leaf", ["gp", "one input dropped", "limiting"])
@pytest.mark.parametrize("shared", [False, True])
def test_sites_learn_by_expectation_propagation(leaf, shared):
    rng = np.random.default_rng(4)
    case, draw = make_case(12, "gaussian", "constant", leaf, rng, shared, 3, split=True)
    problem = core_problem(case, draw.labels, "polya_gamma")
    precision, shift = np.exp(rng.normal(size=12)), rng.normal(size=12)
    state = state_of(problem, draw, precision, shift)
    after = _testing.learn_sites(problem, state, 1, 0.4)
    np.testing.assert_allclose(after[1]["site"], learned(case, draw, 1, precision, shift, 0.4), rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(after[0]["site"], state[0]["site"])


def test_labels_far_on_the_wrong_side_are_learned_too():
    """Beyond 30 standard deviations, where the distribution function of the cavity comes near 0."""
    rng = np.random.default_rng(6)
    case, draw = make_case(8, "gaussian", "constant", "gp", rng)
    problem = core_problem(case, np.array([0, 0, 0, 1, 1, 1, 1, 1]), "polya_gamma")
    draw = type(draw)(draw.layers, np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    precision, shift = np.full(8, 2.0), np.full(8, 400.0)
    after = _testing.learn_sites(problem, state_of(problem, draw, precision, shift), 0, 0.5)
    np.testing.assert_allclose(after[0]["site"], learned(case, draw, 0, precision, shift, 0.5), rtol=1e-3)


def test_sites_are_learned_in_tuning_after_annealing_and_then_stand():
    """What adapts while draws are kept would spoil their law."""
    case, draw = make_case(12, "gaussian", "constant", "gp", np.random.default_rng(7))
    problem = core_problem(case, draw.labels, "polya_gamma", tune=90)
    state = core_state(problem, draw)

    def sites_after(first, last):
        nonlocal state
        state = _core.run(problem, state, 1, 0, first, last)["state"]
        return state[0]["site"]

    at_first = state[0]["site"]
    annealed = sites_after(0, 60)
    tuned = sites_after(60, 90)
    np.testing.assert_array_equal(annealed, at_first)
    assert not np.array_equal(tuned, annealed)
    np.testing.assert_array_equal(sites_after(90, 120), tuned)


@pytest.mark.parametrize("bad", [{"site": None}, {"site": np.zeros((12, 2))}, {"site": np.full((12, 2), np.nan)}])
def test_a_state_without_proper_sites_is_refused(bad):
    case, draw = make_case(12, "gaussian", "constant", "gp", np.random.default_rng(5))
    problem = core_problem(case, draw.labels, "polya_gamma")
    layer = core_state(problem, draw)[0] | bad
    state = [{name: values for name, values in layer.items() if values is not None}]
    with pytest.raises((ValueError, KeyError), match="site"):
        _testing.slide_latents(problem, state, 0, 1, 1)
