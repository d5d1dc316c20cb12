"""Between the oracle's objects and the compiled core's."""

import numpy as np

from treedgp import _core
from treedgp.model.spec import STEPS

from .classes import ClassLayer, ClassState
from .leaf import Hyper, LeafParams
from .target import State


def core_components(components):
    """('gamma', weight, shape, rate) or ('atom', weight, value)."""
    return [(c[1], c[2], c[3] if c[0] == "gamma" else 0.0) for c in components]


def scalar_prior(components):
    return _core.ScalarPrior(core_components(components))


def range_prior(prior):
    return _core.RangePrior(core_components(prior.d), prior.alike or 0.0)


def core_spec(model, hyper=None, tau2=1.0, **schedule):
    """The core's description of an oracle Model; `hyper` gives (a, g) where they are fixed or start."""
    spec = _core.Spec()
    spec.split.alpha, spec.split.beta = model.split.alpha, model.split.beta
    if np.isfinite(model.split.max_depth):
        spec.split.max_depth = int(model.split.max_depth)
    spec.leaf.n_range = model.prior.n_range
    spec.leaf.nugget = scalar_prior(model.prior.g)
    if model.prior.n_range > 0:
        spec.leaf.range = range_prior(model.prior)
    spec.leaf.limiting.allowed = model.prior.limiting is not None
    if model.prior.limiting is not None:
        spec.leaf.limiting.gamma, spec.leaf.limiting.theta1, spec.leaf.limiting.theta2 = model.prior.limiting
    spec.leaf.tau2_random, spec.leaf.tau2_value = model.tau2_random, tau2
    spec.coefficients = getattr(_core.CoefficientKind, model.leaf.coef)
    for prior, rates in ((spec.sigma2, model.s2_rates), (spec.tau2, model.tau2_rates)):
        prior.learn_a = prior.learn_g = rates is not None
        if rates is not None:
            prior.rate_a, prior.rate_g = rates
    if hyper is not None:
        spec.sigma2.a, spec.sigma2.g = hyper.a_s, hyper.g_s
        spec.tau2.a, spec.tau2.g = hyper.a_t, hyper.g_t
    for name, value in schedule.items():
        setattr(spec.schedule, name, value)
    return spec


def core_problem(model, hyper=None, tau2=1.0, prior_only=False, classes=None, **schedule):
    """`classes` is a _core.Classes; None in regression."""
    spec = core_spec(model, hyper, tau2, **schedule)
    if classes is not None:
        spec.leaf.sigma2_explicit = classes.latent and classes.sampler == _core.LatentSampler.polya_gamma
    return _core.Problem(
        spec=spec,
        family=getattr(_core.Family, model.leaf.kernel),
        linear_mean=model.leaf.mean == "linear",
        min_leaf=model.split.min_leaf,
        x=np.ascontiguousarray(model.x, dtype=float),
        z=np.ascontiguousarray(model.y, dtype=float),
        codes=np.ascontiguousarray(model.split.codes, dtype=np.int32),
        categorical=[kind == "categorical" for kind in model.split.kinds],
        sizes=list(model.split.sizes),
        prior_only=prior_only,
        classes=_core.Classes() if classes is None else classes,
    )


def core_classes(model):
    """The core's description of the labels of an oracle ClassModel."""
    classes = _core.Classes()
    classes.count, classes.label = model.n_classes, [int(c) for c in model.labels]
    classes.latent, classes.shared_tree = model.kind != "counts", model.shared_tree
    classes.sampler = _core.LatentSampler.metropolis if model.kind == "metropolis" else _core.LatentSampler.polya_gamma
    return classes


def latent_arrays(f):
    """A latent as the core's arrays, with sites at random: the sampler is right with any."""
    n, rng = len(f), np.random.default_rng(len(f))
    return {
        "latent": np.array(f, dtype=float)[None],
        "site": np.column_stack([np.exp(rng.normal(size=n)), rng.normal(size=n)]),
    }


def core_trees(model, trees, beta=None):
    """The oracle's ClassStates, one for each tree, as the core's chain: a dict for each layer."""
    layers = [(s.tree, layer) for s in trees for layer in s.layers]
    return [
        core_layer(State(tree, layer.params, layer.hyper), [p.sigma2 for p in layer.params], beta)
        | ({} if model.kind == "counts" else latent_arrays(layer.f))
        for tree, layer in layers
    ]


def oracle_trees(model, layers, draw=0):
    """Draw number `draw` of the core's chain as ClassStates, one for each tree. What does not depend on a parameter
    (sigma2 where moves integrate it out) is left at 1, so that states compare.
    """
    explicit = model.kind == "polya_gamma"
    read = []
    for arrays in layers:
        state = oracle_layer(arrays, draw, explicit)
        f = arrays["latent"][draw] if "latent" in arrays else model.labels
        read.append((state.tree, ClassLayer(state.params, state.hyper, f)))
    if model.shared_tree or model.kind == "counts":
        (tree,) = {tree for tree, _ in read}
        return [ClassState(tree, tuple(layer for _, layer in read))]
    return [ClassState(tree, (layer,)) for tree, layer in read]


def preorder(tree):
    if tree is None:
        return [(-1, -1)]
    return [tree[:2], *preorder(tree[2]), *preorder(tree[3])]


def core_layer(state, sigma2=None, beta=None, log_step=None):
    """An oracle State as the core's arrays of a layer."""
    nodes = np.array(preorder(state.tree), dtype=np.int32)
    params, hyper = state.params, state.hyper
    m, leaves = len(hyper.beta0), len(params)
    lower = [hyper.W_inv[i, j] for j in range(m) for i in range(j, m)]
    return {
        "node_start": np.array([0, len(nodes)], dtype=np.int64),
        "column": nodes[:, 0].copy(),
        "cut": nodes[:, 1].copy(),
        "range": np.array([p.d for p in params], dtype=float).reshape(leaves, -1),
        "gp": np.array([p.b for p in params], dtype=np.uint8).reshape(leaves, -1),
        "nugget": np.array([p.g for p in params], dtype=float),
        "sigma2": np.ones(leaves) if sigma2 is None else np.asarray(sigma2, dtype=float),
        "tau2": np.array([p.tau2 for p in params], dtype=float),
        "beta": np.zeros((leaves, m)) if beta is None else np.asarray(beta, dtype=float),
        "beta0": np.array(hyper.beta0, dtype=float)[None],
        "w_inv": np.array(lower, dtype=float)[None],
        "hyper": np.array([[hyper.a_s, hyper.g_s, hyper.a_t, hyper.g_t]], dtype=float),
        "log_step": np.zeros(len(STEPS)) if log_step is None else log_step,
    }


def core_state(state, sigma2=None, beta=None, log_step=None):
    """An oracle State as the core's chain of one layer."""
    return [core_layer(state, sigma2, beta, log_step)]


def _tree(nodes):
    column, cut = next(nodes)
    if column < 0:
        return None
    left = _tree(nodes)
    return (int(column), int(cut), left, _tree(nodes))


def oracle_state(layers, draw=0):
    """Draw number `draw` of a chain of one layer as an oracle State."""
    (arrays,) = layers
    return oracle_layer(arrays, draw)


def oracle_layer(arrays, draw=0, with_sigma2=False):
    """Draw number `draw` of the core's arrays of a layer as an oracle State."""
    begin, end = arrays["node_start"][draw : draw + 2]
    first, last = (begin + draw) // 2, (end + draw + 1) // 2
    m = arrays["beta0"].shape[1]
    w_inv = np.zeros((m, m))
    w_inv[np.triu_indices(m)] = arrays["w_inv"][draw]  # lower by column = upper by row
    w_inv = w_inv + np.triu(w_inv, 1).T
    params = tuple(
        LeafParams(
            tuple(arrays["range"][i].tolist()),
            tuple(arrays["gp"][i].tolist()),
            float(arrays["nugget"][i]),
            float(arrays["tau2"][i]),
            float(arrays["sigma2"][i]) if with_sigma2 else 1.0,
        )
        for i in range(first, last)
    )
    tree = _tree(zip(arrays["column"][begin:end], arrays["cut"][begin:end], strict=True))
    return State(tree, params, Hyper(arrays["beta0"][draw], w_inv, *arrays["hyper"][draw].tolist()))
