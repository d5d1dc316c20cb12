"""Direct simulation of everything from the prior, and of the response given it."""

from dataclasses import dataclass

import numpy as np

from .leaf import Hyper, LeafParams, correlation, design
from .priors import draw_mixture, draw_ranges, p_linear
from .rules import draw_tree, leaf_rows
from .target import State, wishart_prior


@dataclass(frozen=True, eq=False)
class Draw:
    """A state with what the target integrates out, leaves left to right, and the response."""

    state: State
    sigma2: np.ndarray  # (leaves,)
    beta: np.ndarray  # (leaves, m)
    y: np.ndarray  # (n,)


def draw_pair(a, g, rates, rng):
    """(a, g) ~ Exp(l) on (2, inf) times Exp(l'); unchanged if fixed."""
    return (a, g) if rates is None else (2 + rng.exponential(1 / rates[0]), rng.exponential(1 / rates[1]))


def draw_hyper(model, fixed, rng):
    """Hyperparameters from their priors; those without a prior are taken from `fixed`."""
    m = len(fixed.beta0)
    hierarchical = model.leaf.coef == "hierarchical"
    return Hyper(
        rng.standard_normal(m) if hierarchical else fixed.beta0,
        np.reshape(wishart_prior(m).rvs(random_state=rng), (m, m)) if hierarchical else fixed.W_inv,
        *draw_pair(fixed.a_s, fixed.g_s, model.s2_rates, rng),
        *draw_pair(fixed.a_t, fixed.g_t, model.tau2_rates, rng),
    )


def draw_ig(a, g, rng):
    """IG(a/2, g/2)."""
    return g / 2 / rng.gamma(a / 2)


def draw_params(model, hyper, rng, tau2=1.0):
    """(d, b, g, tau2) of one leaf; tau2 is the given one unless it is random."""
    prior = model.prior
    d = draw_ranges(prior, rng)
    b = tuple(int(rng.random() >= p_linear(prior.limiting, d_i)) for d_i in d)
    g = draw_mixture(prior.g, rng)
    return LeafParams(d, b, g, draw_ig(hyper.a_t, hyper.g_t, rng) if model.tau2_random else tau2)


def draw_normal(mean, cov, rng):
    return mean + np.linalg.cholesky(cov) @ rng.standard_normal(len(mean))


def draw_response(model, state, sigma2, beta, rng):
    """y ~ N(F beta, sigma2 K) in each leaf."""
    y = np.empty(len(model.x))
    for i, r in enumerate(leaf_rows(model.split, state.tree)):
        x = model.x[list(r)]
        cov = sigma2[i] * correlation(model.leaf, x, state.params[i])
        y[list(r)] = draw_normal(design(model.leaf, x) @ beta[i], cov, rng)
    return y


def draw_all(model, fixed, rng, tau2=1.0):
    """One draw of the whole model; model.y is not looked at."""
    if model.leaf.coef == "flat":
        raise ValueError("the flat coefficient prior cannot be simulated")
    hyper = draw_hyper(model, fixed, rng)
    tree = draw_tree(model.split, rng)
    params = tuple(draw_params(model, hyper, rng, tau2) for _ in leaf_rows(model.split, tree))
    sigma2 = np.array([draw_ig(hyper.a_s, hyper.g_s, rng) for _ in params])
    W = np.linalg.inv(hyper.W_inv)
    scale = sigma2 * [p.tau2 for p in params]
    beta = np.array([draw_normal(hyper.beta0, s * W, rng) for s in scale])
    state = State(tree, params, hyper)
    return Draw(state, sigma2, beta, draw_response(model, state, sigma2, beta, rng))
