"""Classification: M - 1 latents over trees, labels from their softmax. Direct simulation, and the compiled core's form.

p(label = c | f) = exp(f_c) / sum_l exp(f_l), f = 0 for the last class. Each latent is a treed GP of its own, or all
live on one tree with parameters of their own.
"""

from dataclasses import dataclass, replace

import numpy as np

from treedgp import _core

from .bridge import latent_arrays, oracle_layer, preorder, range_prior, scalar_prior
from .leaf import Hyper, correlation, design
from .rules import draw_tree, leaf_rows
from .simulate import Draw, draw_ig, draw_normal, draw_params, draw_response
from .target import Model, State, wishart_prior

UNLEARNED = (None, None)


@dataclass(frozen=True, eq=False)
class ClassModel:
    """`model` is that of each latent; its y is not looked at. Rates (None, r): a is fixed, g ~ Exp(r)."""

    model: Model
    fixed: Hyper  # values of what is not learned
    n_classes: int = 2
    shared: bool = False
    tau2: float = 1.0  # where it is not random

    @property
    def n_latents(self):
        return self.n_classes - 1


@dataclass(frozen=True, eq=False)
class ClassDraw:
    """Of each latent a Draw, whose y is the latent; and the labels."""

    layers: tuple[Draw, ...]
    labels: np.ndarray  # (n,)

    @property
    def latents(self):
        return np.array([layer.y for layer in self.layers])


def with_model(case, **changes):
    return replace(case, model=replace(case.model, **changes))


# ---- the softmax


def log_softmax(latents):
    """(class, ...) log probabilities of latents (class but the base, ...)."""
    f = np.concatenate([latents, np.zeros((1, *latents.shape[1:]))])
    top = f.max(axis=0)
    return f - top - np.log(np.exp(f - top).sum(axis=0))


def log_labels(latents, labels):
    """log p(labels | latents)."""
    return log_softmax(latents)[labels, np.arange(len(labels))].sum()


def draw_labels(latents, rng):
    """The largest of f_c + Gumbel noise has the softmax probabilities."""
    f = np.concatenate([latents, np.zeros((1, latents.shape[1]))])
    return np.argmax(f + rng.gumbel(size=f.shape), axis=0)


# ---- direct simulation


def draw_pair(a, g, rates, rng):
    """a ~ Exp on (2, inf), g ~ Exp, each where it has a rate."""
    rate_a, rate_g = rates or UNLEARNED
    return (
        a if rate_a is None else 2 + rng.exponential(1 / rate_a),
        g if rate_g is None else rng.exponential(1 / rate_g),
    )


def draw_hyper(case, rng):
    model, fixed, m = case.model, case.fixed, len(case.fixed.beta0)
    hierarchical = model.leaf.coef == "hierarchical"
    return Hyper(
        rng.standard_normal(m) if hierarchical else fixed.beta0,
        np.reshape(wishart_prior(m).rvs(random_state=rng), (m, m)) if hierarchical else fixed.W_inv,
        *draw_pair(fixed.a_s, fixed.g_s, model.s2_rates, rng),
        *draw_pair(fixed.a_t, fixed.g_t, model.tau2_rates, rng),
    )


def draw_layer(case, tree, rng):
    model, hyper = case.model, draw_hyper(case, rng)
    params = tuple(draw_params(model, hyper, rng, case.tau2) for _ in leaf_rows(model.split, tree))
    sigma2 = np.array([draw_ig(hyper.a_s, hyper.g_s, rng) for _ in params])
    W = np.linalg.inv(hyper.W_inv)
    beta = np.array([draw_normal(hyper.beta0, s * p.tau2 * W, rng) for s, p in zip(sigma2, params, strict=True)])
    state = State(tree, params, hyper)
    return Draw(state, sigma2, beta, draw_response(model, state, sigma2, beta, rng))


def draw_all(case, rng):
    """One draw of everything: trees, parameters, latents, labels."""
    split, n = case.model.split, case.n_latents
    trees = [draw_tree(split, rng)] * n if case.shared else [draw_tree(split, rng) for _ in range(n)]
    layers = tuple(draw_layer(case, tree, rng) for tree in trees)
    return ClassDraw(layers, draw_labels(np.array([layer.y for layer in layers]), rng))


# ---- what follows from a draw


def latent_law(model, layer, leaf, rows):
    """Mean and covariance over sigma2 of a leaf's latent, beta integrated out: F beta0, K + tau2 F W F'."""
    hyper, params = layer.state.hyper, layer.state.params[leaf]
    x = model.x[list(rows)]
    F = design(model.leaf, x)
    return F @ hyper.beta0, correlation(model.leaf, x, params) + params.tau2 * F @ np.linalg.solve(hyper.W_inv, F.T)


def latent_quadratics(model, layer):
    """(f - F beta0)' (K + tau2 F W F')^-1 (f - F beta0) / sigma2 of each leaf, and its number of rows."""
    rows = leaf_rows(model.split, layer.state.tree)
    quadratics = []
    for leaf, r in enumerate(rows):
        mean, cov = latent_law(model, layer, leaf, r)
        shift = layer.y[list(r)] - mean
        quadratics.append(shift @ np.linalg.solve(cov, shift) / layer.sigma2[leaf])
    return np.array(quadratics), np.array([len(r) for r in rows])


# ---- the compiled core


def core_spec(case, sampler, **schedule):
    model, spec = case.model, _core.Spec()
    spec.split.alpha, spec.split.beta = model.split.alpha, model.split.beta
    spec.leaf.n_range = model.prior.n_range
    spec.leaf.nugget = scalar_prior(model.prior.g)
    if model.prior.n_range > 0:
        spec.leaf.range = range_prior(model.prior)
    spec.leaf.limiting.allowed = model.prior.limiting is not None
    if model.prior.limiting is not None:
        spec.leaf.limiting.gamma, spec.leaf.limiting.theta1, spec.leaf.limiting.theta2 = model.prior.limiting
    spec.leaf.tau2_random, spec.leaf.tau2_value = model.tau2_random, case.tau2
    spec.leaf.sigma2_explicit = sampler == "polya_gamma"
    spec.coefficients = getattr(_core.CoefficientKind, model.leaf.coef)
    fixed = case.fixed
    pairs = ((spec.sigma2, model.s2_rates, fixed.a_s, fixed.g_s), (spec.tau2, model.tau2_rates, fixed.a_t, fixed.g_t))
    for prior, rates, a, g in pairs:
        rate_a, rate_g = rates or UNLEARNED
        prior.a, prior.g = a, g
        prior.learn_a, prior.learn_g = rate_a is not None, rate_g is not None
        prior.rate_a, prior.rate_g = rate_a or 1.0, rate_g or 1.0
    for name, value in schedule.items():
        setattr(spec.schedule, name, value)
    return spec


def core_problem(case, labels, sampler, block_size=4, **schedule):
    model, classes = case.model, _core.Classes()
    classes.count, classes.label = case.n_classes, [int(label) for label in labels]
    classes.shared_tree, classes.block_size = case.shared, block_size
    classes.sampler = getattr(_core.LatentSampler, sampler)
    return _core.Problem(
        spec=core_spec(case, sampler, **schedule),
        family=getattr(_core.Family, model.leaf.kernel),
        linear_mean=model.leaf.mean == "linear",
        min_leaf=model.split.min_leaf,
        x=np.ascontiguousarray(model.x, dtype=float),
        z=np.zeros(len(model.x)),
        codes=np.ascontiguousarray(model.split.codes, dtype=np.int32),
        categorical=[kind == "categorical" for kind in model.split.kinds],
        sizes=[int(size) for size in model.split.sizes],
        classes=classes,
    )


def core_layer(layer, log_step):
    """A Draw as the core's arrays."""
    nodes = np.array(preorder(layer.state.tree), dtype=np.int32)
    params, hyper, leaves = layer.state.params, layer.state.hyper, len(layer.state.params)
    m = len(hyper.beta0)
    return {
        "node_start": np.array([0, len(nodes)], dtype=np.int64),
        "column": nodes[:, 0].copy(),
        "cut": nodes[:, 1].copy(),
        "range": np.array([p.d for p in params], dtype=float).reshape(leaves, -1),
        "gp": np.array([p.b for p in params], dtype=np.uint8).reshape(leaves, -1),
        "nugget": np.array([p.g for p in params], dtype=float),
        "sigma2": np.array(layer.sigma2, dtype=float),
        "tau2": np.array([p.tau2 for p in params], dtype=float),
        "beta": np.array(layer.beta, dtype=float).reshape(leaves, m),
        "beta0": np.array(hyper.beta0, dtype=float)[None],
        "w_inv": np.array([[hyper.W_inv[i, j] for j in range(m) for i in range(j, m)]], dtype=float),
        "hyper": np.array([[hyper.a_s, hyper.g_s, hyper.a_t, hyper.g_t]], dtype=float),
        "log_step": log_step,
    } | latent_arrays(layer.y)


def core_state(problem, draw):
    """A ClassDraw as a chain's state; its labels belong to the problem."""
    steps = _core.start(problem, 0, 0, False)[0]["log_step"]
    return [core_layer(layer, np.zeros_like(steps)) for layer in draw.layers]


def class_draws(layers, labels):
    """The core's draws of every layer, and labels (draw, n), as ClassDraws."""
    for i, y in enumerate(labels):
        drawn = []
        for arrays in layers:
            begin, end = arrays["node_start"][i : i + 2]
            leaves = slice((begin + i) // 2, (end + i + 1) // 2)
            drawn.append(
                Draw(oracle_layer(arrays, i), arrays["sigma2"][leaves], arrays["beta"][leaves], arrays["latent"][i])
            )
        yield ClassDraw(tuple(drawn), np.asarray(y).astype(int))
