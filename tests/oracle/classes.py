"""Classification: what the moves act on, and the posterior.

p(label = c | f) = exp(f_c) / sum_l exp(f_l), f = 0 for the last class; every other class has a layer, a function over
its own tree or over the one that all share. In a leaf f ~ N(F beta0, sigma2 (K + tau2 F W F')), beta integrated out.

A state of the moves is (tree, params): params[l][i] is the vector of leaf i in layer l. Vectors hold sigma2 where moves
condition on it.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import inf, log, pi

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaln, logsumexp

from . import moves
from .leaf import Hyper, LeafParams, correlation, design, log_M
from .moves import Proposal, null
from .priors import log_p_b, log_p_d, log_p_g, p_fresh, support
from .rules import all_trees, leaf_rows, log_rules, log_structure, rule_proposal
from .target import Model, log_hyper, log_ig, wishart_prior

KINDS = ("polya_gamma", "metropolis", "counts")  # metropolis: moves see f as it stands, sigma2 integrated out


@dataclass(frozen=True, eq=False)
class ClassModel(Model):
    """Model.y is not looked at."""

    labels: np.ndarray = None  # (n,) 0 .. n_classes - 1
    n_classes: int = 2
    kind: str = "polya_gamma"
    shared_tree: bool = False

    @property
    def n_layers(self):
        return 1 if self.kind == "counts" else self.n_classes - 1


@dataclass(frozen=True, eq=False)
class ClassLayer:
    params: tuple[LeafParams, ...]
    hyper: Hyper
    f: np.ndarray  # (n,) the latent; not looked at by leaves of class counts


@dataclass(frozen=True, eq=False)
class ClassState:
    """A tree and the layers on it."""

    tree: tuple | None
    layers: tuple[ClassLayer, ...]


@dataclass(frozen=True, eq=False)
class Turn:
    """The labels as data of the layer whose turn it is: y ~ N(f, diag(noise))."""

    layer: int
    y: np.ndarray  # (n,)
    noise: np.ndarray  # (n,)


# ---- one leaf


def log_normal(y, mean, cov):
    factor = cho_factor(cov, lower=True)
    e = y - mean
    return -0.5 * (len(y) * log(2 * pi) + 2 * np.log(np.diag(factor[0])).sum() + e @ cho_solve(factor, e))


def log_given_sigma2(model, hyper, x, y, p, noise=0.0):
    """log N(y; F beta0, sigma2 (K + tau2 F W F') + diag(noise)). -inf if the matrix does not factorise."""
    F = design(model, x)
    cov = p.sigma2 * (correlation(model, x, p) + p.tau2 * F @ np.linalg.solve(hyper.W_inv, F.T))
    try:
        return log_normal(y, F @ hyper.beta0, cov + noise * np.eye(len(y)))
    except np.linalg.LinAlgError:
        return -inf


def log_counts(labels, n_classes):
    """log p(labels), the shares ~ Dirichlet(1, ..., 1) integrated out: log B(n + 1) - log B(1)."""
    n = np.bincount(labels, minlength=n_classes)
    return float(gammaln(n + 1).sum() - gammaln((n + 1).sum()) + gammaln(n_classes))


# ---- the moves' target


def layer_marginals(model, tree, layer, index=0, turn=None):
    """What each leaf of a layer owes to its data, left to right."""
    out = []
    for rows, p in zip(map(list, leaf_rows(model.split, tree)), layer.params, strict=True):
        if model.kind == "counts":
            out.append(log_counts(model.labels[rows], model.n_classes))
        elif model.kind == "metropolis":
            out.append(log_M(model.leaf, layer.hyper, model.x[rows], layer.f[rows], p))
        elif turn is not None and index == turn.layer:
            data = turn.y[rows], p, turn.noise[rows]
            out.append(log_given_sigma2(model.leaf, layer.hyper, model.x[rows], *data))
        else:
            out.append(log_given_sigma2(model.leaf, layer.hyper, model.x[rows], layer.f[rows], p))
    return out


@lru_cache(4096)
def log_p_shape(model, p, hyper):
    """Log prior of a vector, sigma2 apart."""
    shape = log_p_d(model.prior, p) + log_p_b(model.prior, p) + log_p_g(model.prior, p)
    return shape + (log_ig(p.tau2, hyper.a_t, hyper.g_t) if model.tau2_random else 0.0)


@lru_cache(4096)
def log_p_sigma2(p, hyper):
    return log_ig(p.sigma2, hyper.a_s, hyper.g_s)


def log_prior_of_params(model, layer, sigma2=None):
    """Of every vector of a layer; sigma2(p, hyper) replaces the prior density of sigma2."""
    sigma2 = sigma2 or log_p_sigma2
    explicit, hyper = model.kind == "polya_gamma", layer.hyper
    return sum(log_p_shape(model, p, hyper) + (sigma2(p, hyper) if explicit else 0.0) for p in layer.params)


def log_move_terms(model, state, turn=None, sigma2=None):
    """Terms of the density that the moves of a turn act on, by the names they have in a ratio."""
    structure, rules = log_structure(model.split, state.tree), log_rules(model.split, state.tree)
    exists = structure + rules > -inf
    return {
        "likelihood": sum(
            sum(layer_marginals(model, state.tree, layer, i, turn)) if exists else -inf
            for i, layer in enumerate(state.layers)
        ),
        "tree_prior": structure,
        "rule_prior": rules,
        "params_prior": sum(log_prior_of_params(model, layer, sigma2) for layer in state.layers),
    }


# ---- the posterior


def log_labels(model, f):
    """f (classes - 1, n)."""
    logits = np.vstack([f, np.zeros(f.shape[1])])
    n = np.arange(f.shape[1])
    return float((logits[model.labels, n] - logsumexp(logits, axis=0)).sum())


def log_layer_hyper(model, hyper):
    m, total = len(hyper.beta0), log_hyper(hyper.a_s, hyper.g_s, model.s2_rates)
    if model.tau2_random:
        total += log_hyper(hyper.a_t, hyper.g_t, model.tau2_rates)
    if model.leaf.coef == "hierarchical":
        total += -0.5 * (m * log(2 * pi) + hyper.beta0 @ hyper.beta0) + float(wishart_prior(m).logpdf(hyper.W_inv))
    return total


def log_class_posterior(model, trees):
    """log p(labels | f) + log p(f, trees, parameters), every beta and sigma2 integrated out."""
    layers = [layer for state in trees for layer in state.layers]
    total = 0.0 if model.kind == "counts" else log_labels(model, np.array([layer.f for layer in layers]))
    for state in trees:
        total += log_structure(model.split, state.tree) + log_rules(model.split, state.tree)
        for layer in state.layers:
            total += log_layer_hyper(model, layer.hyper)
            total += integrated_leaves(model, state.tree, layer)
    return total


def integrated_leaves(model, tree, layer):
    """Marginals and priors of the leaves of a layer, sigma2 integrated out whatever the moves do."""
    if model.kind == "counts":
        return sum(layer_marginals(model, tree, layer))
    as_stands = replace(model, kind="metropolis")
    return sum(layer_marginals(as_stands, tree, layer)) + log_prior_of_params(as_stands, layer)


# ---- proposals where every parameter has atoms


def vectors(prior, tau2, sigma2_atoms):
    """Every vector of a leaf; sigma2_atoms (1,) where moves integrate sigma2 out."""
    return [replace(p, sigma2=s) for p in support(prior, tau2) for s in sigma2_atoms]


def all_states(split, vectors_of_layer):
    """Every (tree, params)."""
    return [
        (tree, params)
        for tree in all_trees(split)
        for params in product(
            *(product(vectors, repeat=len(leaf_rows(split, tree))) for vectors in vectors_of_layer),
        )
    ]


def grow(split, prior, tree, params, vectors_of_layer):
    """In every layer a coin for who inherits and a fresh vector for the other; sigma2's atoms have equal mass."""
    leaves = moves.growable(split, tree)
    proposals = []
    for i, path, rows in leaves:
        for rule, p_rule in rule_proposal(split, rows).items():
            next_tree = moves.replace(tree, path, (*rule, None, None))
            q_reverse = 1 / len(moves.prunable(split, next_tree)) / 2 ** len(params)
            choices = [
                [
                    (pair, p / 2)
                    for fresh, p in fresh_vectors(prior, found)
                    for pair in ((layer[i], fresh), (fresh, layer[i]))
                ]
                for layer, found in zip(params, vectors_of_layer, strict=True)
            ]
            for chosen in product(*choices):
                q = p_rule / len(leaves) * float(np.prod([p for _, p in chosen]))
                after = tuple(
                    (*layer[:i], *pair, *layer[i + 1 :]) for layer, (pair, _) in zip(params, chosen, strict=True)
                )
                proposals.append(Proposal(next_tree, after, q, q_reverse))
    return proposals or [null(1.0)]


def prune(split, prior, tree, params, vectors_of_layer):
    """In every layer a coin for whose vector survives."""
    nodes = moves.prunable(split, tree)
    proposals = []
    for i, path, node, rows in nodes:
        next_tree = moves.replace(tree, path, None)
        p_grow_here = rule_proposal(split, rows)[node[:2]] / len(moves.growable(split, next_tree))
        for keeps_left in product((True, False), repeat=len(params)):
            after, q_reverse = [], p_grow_here
            for layer, found, left in zip(params, vectors_of_layer, keeps_left, strict=True):
                kept, lost = (layer[i], layer[i + 1]) if left else (layer[i + 1], layer[i])
                after.append((*layer[:i], kept, *layer[i + 2 :]))
                q_reverse *= dict(fresh_vectors(prior, found))[lost] / 2
            proposals.append(Proposal(next_tree, tuple(after), 1 / len(nodes) / 2 ** len(params), q_reverse))
    return proposals or [null(1.0)]


def fresh_vectors(prior, found):
    """(vector, probability)."""
    atoms = len({p.sigma2 for p in found})
    return [(p, p_fresh(prior, p) / atoms) for p in found]


def propose(move, split, prior, tree, params, vectors_of_layer):
    """Every proposal of a tree move; change, shift, swap and rotate do not look at the vectors."""
    if move in ("grow", "prune"):
        return {"grow": grow, "prune": prune}[move](split, prior, tree, params, vectors_of_layer)
    return getattr(moves, move)(split, prior, tree, params)
