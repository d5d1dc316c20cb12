"""Class probabilities and votes: integrals against high-precision quadrature and brute-force Monte Carlo; latent
moments against the closed-form GP given a draw's latents.
"""

import mpmath
import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

from oracle.class_model import ClassDraw, ClassModel, core_problem, core_state, latent_law, log_softmax
from oracle.class_model import draw_all as draw_classes
from oracle.leaf import Hyper, LeafModel, design, noise, strict_correlation
from oracle.priors import LeafPrior
from oracle.rules import SplitData, dense_ranks, leaf_rows
from oracle.target import Model
from statistical.gates import seed_of
from treedgp import _core, _testing
from treedgp.posterior.classes import N_NODES

NO_NODES = np.zeros((1, 1))
MEANS = (-50.0, -20.0, -8.0, -2.0, -0.3, 0.0, 0.1, 1.0, 5.0, 20.0, 30.0, 50.0)
SDS = (0.0, 1e-6, 0.1, 0.7, 1.0, 1.4, 1.4999, 1.5, 1.5001, 2.0, 5.0, 30.0, 200.0, 1000.0)


def exact_mean_expit(mean, sd):
    """E expit(mean + sd Z) = E Phi((mean + L) / sd), L logistic; to some 15 digits."""
    if sd == 0:
        return float(1 / (1 + mpmath.exp(-mean)))
    if sd < 0.5:
        pieces = [-12, -6, -2, 0, 2, 6, 12]
        return float(mpmath.quad(lambda z: mpmath.npdf(z) / (1 + mpmath.exp(-mean - sd * z)), pieces))
    pieces = sorted({-90.0, -30.0, -8.0, 0.0, 8.0, 30.0, 90.0, -mean})

    def integrand(x):
        return mpmath.exp(-abs(x)) / (1 + mpmath.exp(-abs(x))) ** 2 * mpmath.ncdf((mean + x) / sd)

    return float(mpmath.quad(integrand, pieces))


@pytest.mark.parametrize("sd", SDS)
def test_two_class_probabilities_against_quadrature(sd):
    for mean in MEANS:
        probability, vote = _testing.class_shares(np.array([mean]), np.array([sd**2]), NO_NODES)
        expected = exact_mean_expit(mean, sd)
        np.testing.assert_allclose(probability, [expected, 1 - expected], atol=1e-8)
        exact_vote = float(mean > 0) if sd == 0 else ndtr(mean / sd)
        np.testing.assert_allclose(vote, [exact_vote, 1 - exact_vote], atol=1e-12)


def test_two_class_probabilities_lie_between_0_and_1_and_are_symmetric():
    """For every mean and spread: a negative probability would make a log loss meaningless."""
    for mean in np.concatenate([np.linspace(-50, 50, 101), [1e3, -1e3, 1e8, -1e8]]):
        for sd in (*SDS, 3.0, 1e6):
            here = _testing.class_shares(np.array([mean]), np.array([sd**2]), NO_NODES)
            mirror = _testing.class_shares(np.array([-mean]), np.array([sd**2]), NO_NODES)
            assert ((here >= 0) & (here <= 1)).all(), (mean, sd, here)
            np.testing.assert_allclose(here.sum(axis=1), 1, atol=1e-15)
            if mean != 0:
                np.testing.assert_allclose(here, mirror[:, ::-1], atol=1e-15)


def product_rule(latents, nodes):
    """Gauss-Hermite nodes (node, latent) and weights."""
    x, w = hermegauss(nodes)
    grid = np.stack(np.meshgrid(*[x] * latents, indexing="ij"), axis=-1).reshape(-1, latents)
    weight = np.prod(np.stack(np.meshgrid(*[w] * latents, indexing="ij"), axis=-1).reshape(-1, latents), axis=1)
    return grid, weight / weight.sum()


def shipped_nodes(latents):
    return np.ascontiguousarray(ndtri(qmc.Sobol(latents, scramble=True, seed=0).random(N_NODES)))


@pytest.mark.parametrize(("n_classes", "nodes"), [(3, 60), (5, 18)])
def test_many_class_probabilities_against_quadrature(n_classes, nodes):
    rng = np.random.default_rng(seed_of(f"quadrature {n_classes}"))
    grid, weight = product_rule(n_classes - 1, nodes)
    for _ in range(20):
        mean, var = 2 * rng.normal(size=n_classes - 1), rng.gamma(1.0, 1.0, n_classes - 1)
        exact = np.exp(log_softmax((mean + np.sqrt(var) * grid).T)) @ weight
        probability, _ = _testing.class_shares(mean, var, shipped_nodes(n_classes - 1))
        np.testing.assert_allclose(probability.sum(), 1, atol=1e-12)
        np.testing.assert_allclose(probability, exact, atol=0.01)  # the nodes' own error
        fine, _ = _testing.class_shares(mean, var, sobol(n_classes - 1, 16))
        np.testing.assert_allclose(fine, exact, atol=2e-4)


def sobol(latents, log2_nodes):
    return np.ascontiguousarray(ndtri(qmc.Sobol(latents, scramble=True, seed=1).random_base2(log2_nodes)))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_probabilities_and_votes_against_brute_force(n_classes):
    """400,000 latents a row: five standard errors, besides the error of 65,536 quasi-random nodes."""
    rng = np.random.default_rng(seed_of(f"brute force {n_classes}"))
    draws, nodes = 400_000, sobol(n_classes - 1, 16)
    for _ in range(5):
        mean, var = rng.normal(size=n_classes - 1), rng.gamma(1.0, 4.0, n_classes - 1)
        f = mean[:, None] + np.sqrt(var)[:, None] * rng.standard_normal((n_classes - 1, draws))
        softmax = np.exp(log_softmax(f))
        probability, vote = _testing.class_shares(mean, var, nodes)
        np.testing.assert_array_less(
            np.abs(probability - softmax.mean(axis=1)), 5 * softmax.std(axis=1) / draws**0.5 + 2e-4
        )
        won = softmax == softmax.max(axis=0)
        np.testing.assert_array_less(np.abs(vote - won.mean(axis=1)), 5 * won.std(axis=1) / draws**0.5 + 5e-4)


# ---- a draw's predictive law


def tree_case(n, kernel, mean, shared, n_classes, rng):
    x = rng.random((n, 2))
    levels = rng.integers(3, size=n)
    codes = np.column_stack([dense_ranks(x[:, 0]), dense_ranks(x[:, 1]), levels])
    split = SplitData(codes, ("numeric", "numeric", "categorical"), (n, n, 3), min_leaf=2, alpha=0.9, beta=0.5)
    prior = LeafPrior(2, (("gamma", 1.0, 2.0, 4.0),), (("gamma", 1.0, 2.0, 10.0),), (10.0, 0.2, 0.5))
    model = Model(x, np.zeros(n), split, LeafModel(kernel, mean, "hierarchical"), prior, True, (None, 0.2), None)
    m = 3 if mean == "linear" else 1
    return ClassModel(model, Hyper(np.zeros(m), np.eye(m), 5.0, 8.0, 6.0, 4.0), n_classes, shared)


def closed_form(case, layer, x_new, like):
    """Mean, variance of f and of f with its nugget at x_new, which lies in the leaf of the training row `like`."""
    model = case.model
    leaf, rows = next((i, list(r)) for i, r in enumerate(leaf_rows(model.split, layer.state.tree)) if like in r)
    params, hyper, sigma2 = layer.state.params[leaf], layer.state.hyper, layer.sigma2[leaf]
    mean, cov = latent_law(model, layer, leaf, tuple(rows))
    F, f_new = design(model.leaf, model.x[rows]), design(model.leaf, x_new[None])
    W = np.linalg.inv(hyper.W_inv)
    cross = strict_correlation(model.leaf, x_new[None], model.x[rows], params) + params.tau2 * f_new @ W @ F.T
    gain = np.linalg.solve(cov, cross.T).T
    strict = 0.0 if not any(params.b) else 1.0  # a limiting leaf is all noise but for its mean
    variance = strict + params.tau2 * (f_new @ W @ f_new.T)[0, 0] - (gain @ cross.T)[0, 0]
    value = (f_new @ hyper.beta0 + gain @ (layer.y[rows] - mean))[0]
    return value, sigma2 * variance, sigma2 * (variance + noise(params))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("kernel", "mean"), [("gaussian", "constant"), ("matern32", "linear")])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_predictions_of_a_draw_have_their_closed_form(n_classes, kernel, mean, shared):
    rng = np.random.default_rng(seed_of(f"draw {n_classes} {kernel} {shared}"))
    nodes = shipped_nodes(n_classes - 1) if n_classes > 2 else NO_NODES
    for _ in range(4):
        case = tree_case(14, kernel, mean, shared, n_classes, rng)
        draw: ClassDraw = draw_classes(case, rng)
        problem = core_problem(case, draw.labels, "polya_gamma")
        state = core_state(problem, draw)
        like = rng.integers(14, size=6)
        x_new = rng.random((6, 2))
        codes = case.model.split.codes[like].astype(np.int32)
        expected = np.array([[closed_form(case, layer, x, i) for x, i in zip(x_new, like, strict=True)]
                             for layer in draw.layers])  # fmt: skip
        for m, arrays in enumerate(state):
            moments = _core.moments(problem, arrays, 0, 1, x_new, codes)[:, 0]
            np.testing.assert_allclose(moments, expected[m].T, rtol=1e-6, atol=1e-8)
        shares = _core.class_shares(problem, state, 0, 1, x_new, codes, nodes)[:, 0]
        for row in range(6):
            alone = _testing.class_shares(expected[:, row, 0].copy(), expected[:, row, 2].copy(), nodes)
            np.testing.assert_allclose(shares[:, row], alone, atol=1e-6)
