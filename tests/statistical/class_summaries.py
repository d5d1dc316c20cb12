"""Scalar statistics of one ClassDraw, for chains and direct simulation alike."""

import numpy as np
from scipy.special import chdtr

from oracle.class_model import latent_quadratics, log_labels, log_softmax
from oracle.rules import leaf_rows
from statistical.summaries import hyper_statistics, leaf_statistics, pivot_statistics, tree_statistics

TREE = ("leaves", "depth", "root rule", "categorical share")
LATENT_PIVOTS = ("latent pivot", "latent pivot of row 0", "sigma2 given (a, g)")
"""Uniform on (0, 1) for each latent, whatever the model; 'beta pivot' too where beta is not stale."""


def layer_statistics(case, layer, with_tree, with_beta):
    """Of one latent and its tree; of leaves, that which holds row 0."""
    model, state = case.model, layer.state
    rows = leaf_rows(model.split, state.tree)
    at = next(i for i, r in enumerate(rows) if 0 in r)
    out = {}
    if with_tree:
        tree = tree_statistics(model, state.tree)
        out |= {name: tree[name] for name in TREE}
    out |= leaf_statistics(state.hyper, state.params[at], layer.sigma2[at], ())
    out["sum of b"] = sum(map(sum, (p.b for p in state.params)))
    hyper = hyper_statistics(state.hyper)
    out |= {name: hyper[name] for name in ("g_s", "a_t", "g_t", "log|W|", "beta0[0]")}
    quadratics, sizes = latent_quadratics(model, layer)
    out["latent pivot"] = chdtr(sizes.sum(), quadratics.sum())
    out["latent pivot of row 0"] = chdtr(sizes[at], quadratics[at])
    out |= {"f[0]": layer.y[0], "sd of f": np.std(layer.y), "f[1] - f[0]": layer.y[1] - layer.y[0]}
    if with_beta:
        out["beta pivot"] = pivot_statistics(layer, rows, at)["beta pivot"]
    if not case.model.tau2_random:
        del out["tau2 given (a, g)"]
    return out


def alike(is_class, rows):
    """How one-sided leaves are: what labels say of a tree."""
    return sum((2 * is_class[r].sum() - len(r)) ** 2 / len(r) for r in map(list, rows))


def class_statistics(case, draw, with_beta):
    """`with_beta`: not after a round of the Metropolis sampler, which leaves beta stale."""
    has_tree = case.model.split.alpha > 0
    out = {}
    for i, layer in enumerate(draw.layers):
        own = layer_statistics(case, layer, has_tree and (i == 0 or not case.shared), with_beta)
        out |= {f"{name} of {i}": value for name, value in own.items()}
        out[f"labels alike in the leaves of {i}"] = alike(
            draw.labels == i, leaf_rows(case.model.split, layer.state.tree)
        )
    log_p = log_softmax(draw.latents)
    return out | {
        "log p(labels | f)": log_labels(draw.latents, draw.labels),
        "entropy of row 0": -(np.exp(log_p[:, 0]) * log_p[:, 0]).sum(),
        "labels 0": np.sum(draw.labels == 0),
        "labels of the base": np.sum(draw.labels == case.n_latents),
    }
