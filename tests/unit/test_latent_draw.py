"""Latents given Gaussian data, f | y with y ~ N(f, diag(noise)): draws of the core against the closed form.

f ~ N(F beta0, C), C = sigma2 (K + tau2 F W F'), so with S = C + diag(noise)
f | y ~ N(F beta0 + C S^-1 (y - F beta0), C - C S^-1 C). Draws whitened by that must be independent standard normals:
their means, squares and products of pairs are held to it by p-values. Gates: see statistical/gates.py.
"""

import numpy as np
import pytest
from scipy.stats import chi2, norm

from oracle.class_model import ClassDraw, ClassModel, core_problem, core_state, latent_law
from oracle.leaf import Hyper, LeafModel, LeafParams
from oracle.priors import LeafPrior
from oracle.rules import SplitData, dense_ranks, leaf_rows
from oracle.simulate import Draw
from oracle.target import Model, State
from statistical.gates import Comparison, assert_gate, rejected, seed_of
from treedgp import _testing

LEAVES = ("gp", "one input dropped", "limiting")
KERNELS = ("gaussian", "matern12", "matern32", "matern52")


def make_case(n, kernel, mean, leaf, rng, shared=False, n_classes=2, split=False):
    """A leaf, or two of different parameters; beta0 and W are not 0 and I."""
    x = rng.random((n, 2))
    codes = np.column_stack([dense_ranks(column) for column in x.T])
    split_data = SplitData(codes, ("numeric",) * 2, (n, n), min_leaf=1)
    prior = LeafPrior(2, (("gamma", 1.0, 2.0, 4.0),), (("gamma", 1.0, 1.0, 10.0),), (10.0, 0.2, 0.7))
    model = Model(x, np.zeros(n), split_data, LeafModel(kernel, mean, "fixed"), prior)
    beta0, w_inv = np.array([0.8, -1.2, 0.5]), np.array([[1.0, 0.3, -0.2], [0.3, 0.7, 0.1], [-0.2, 0.1, 1.5]])
    m = 3 if mean == "linear" else 1
    case = ClassModel(model, Hyper(beta0[:m], w_inv[:m, :m]), n_classes, shared)
    b = {"gp": (1, 1), "one input dropped": (0, 1), "limiting": (0, 0)}[leaf]
    params = [LeafParams((0.4, 0.9), b, 0.03, 1.7), LeafParams((0.2, 0.3), (1, 1), 0.2, 0.4)]
    tree = (0, n // 2, None, None) if split else None
    params = tuple(params if split else params[:1])
    state = State(tree, params, case.fixed)
    sigma2 = np.array([2.5, 0.6])[: len(params)]
    layers = tuple(Draw(state, sigma2, np.zeros((len(params), m)), rng.normal(size=n)) for _ in range(case.n_latents))
    return case, ClassDraw(layers, rng.integers(n_classes, size=n))


def latent_posterior(case, draw, turn, y, noise):
    """Mean and covariance of f | y, leaf by leaf."""
    n, layer = len(y), draw.layers[turn]
    mean, cov = np.zeros(n), np.zeros((n, n))
    for leaf, rows in enumerate(map(list, leaf_rows(case.model.split, layer.state.tree))):
        prior_mean, unit = latent_law(case.model, layer, leaf, tuple(rows))
        C = layer.sigma2[leaf] * unit
        gain = np.linalg.solve(C + np.diag(noise[rows]), C).T
        mean[rows] = prior_mean + gain @ (y[rows] - prior_mean)
        cov[np.ix_(rows, rows)] = C - gain @ C
    return mean, (cov + cov.T) / 2


def normality(f, mean, cov):
    """Comparisons of draws (draw, n) with N(mean, cov)."""
    draws, n = f.shape
    z = np.linalg.solve(np.linalg.cholesky(cov), (f - mean).T)
    out = [Comparison(f"mean {i}", 2 * norm.sf(abs(v) * np.sqrt(draws))) for i, v in enumerate(z.mean(axis=1))]
    for i, square in enumerate((z**2).sum(axis=1)):
        out.append(Comparison(f"variance {i}", 2 * min(chi2.cdf(square, draws), chi2.sf(square, draws))))
    products = z @ z.T / np.sqrt(draws)
    out += [Comparison(f"covariance {i},{j}", 2 * norm.sf(abs(products[i, j]))) for i in range(n) for j in range(i)]
    return out


def attempt_with(case, draw, turn, y, noise, seed, draws):
    problem = core_problem(case, draw.labels, "polya_gamma")
    f = _testing.draw_latents(problem, core_state(problem, draw), turn, y, noise, seed, draws)
    return normality(f, *latent_posterior(case, draw, turn, y, noise))


def data(n, rng):
    """As Polya-Gamma makes them: noise over orders of magnitude, y far off where it is large."""
    noise = np.exp(rng.uniform(np.log(0.3), np.log(300), n))
    return rng.normal(size=n) + rng.choice([-0.5, 0.5], n) * noise, noise


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("mean", ["constant", "linear"])
def test_latents_given_noisy_data(kernel, leaf, mean, request):
    rng = np.random.default_rng(seed_of(request.node.name))
    case, draw = make_case(9, kernel, mean, leaf, rng)
    y, noise = data(9, rng)
    assert_gate(lambda seed, scale: attempt_with(case, draw, 0, y, noise, seed, 10_000 * scale), request.node.name)


@pytest.mark.parametrize("n", [1, 2, 33])
def test_leaves_of_every_size(n, request):
    rng = np.random.default_rng(seed_of(request.node.name))
    case, draw = make_case(n, "gaussian", "constant", "gp", rng)
    y, noise = data(n, rng)
    assert_gate(lambda seed, scale: attempt_with(case, draw, 0, y, noise, seed, 4_000 * scale), request.node.name)


@pytest.mark.parametrize("shared", [True, False])
def test_two_leaves_and_the_turn_of_the_second_class(shared, request):
    rng = np.random.default_rng(seed_of(request.node.name))
    case, draw = make_case(11, "gaussian", "linear", "limiting", rng, shared, 3, split=True)
    y, noise = data(11, rng)
    assert_gate(lambda seed, scale: attempt_with(case, draw, 1, y, noise, seed, 10_000 * scale), request.node.name)


def test_without_noise_to_speak_of_the_latent_is_the_data():
    rng = np.random.default_rng(1)
    case, draw = make_case(8, "gaussian", "constant", "gp", rng)
    problem = core_problem(case, draw.labels, "polya_gamma")
    y, noise = rng.normal(size=8), np.full(8, 1e-12)
    f = _testing.draw_latents(problem, core_state(problem, draw), 0, y, noise, 1, 50)
    np.testing.assert_allclose(f, np.broadcast_to(y, f.shape), atol=1e-4)


def test_a_covariance_one_fifth_off_is_seen():
    rng = np.random.default_rng(2)
    case, draw = make_case(9, "gaussian", "constant", "gp", rng)
    y, noise = data(9, rng)
    problem = core_problem(case, draw.labels, "polya_gamma")
    f = _testing.draw_latents(problem, core_state(problem, draw), 0, y, noise, 3, 10_000)
    mean, cov = latent_posterior(case, draw, 0, y, noise)
    assert not rejected(normality(f, mean, cov))
    assert rejected(normality(f, mean, 1.2 * cov))
    assert rejected(normality(f, mean + 0.1 * np.sqrt(np.diag(cov)), cov))
