"""Bridges: what leaves give the labels, estimated from sites, against a sum over a grid. Rising estimates are unbiased
and weigh the latents right; descending ones, from latents of the posterior, are unbiased for the reciprocal."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax
from scipy.stats import norm

from oracle.class_model import core_problem, core_state
from statistical.class_models import make_class_case, split_data
from statistical.gates import Comparison, assert_gate, rejected, seed_of
from treedgp import _core, _testing
from unit.test_ellipses import prior_law
from unit.test_latent_draw import make_case

BATCHES = 50
AMPLITUDES = {"small": 1.0, "large": 15.0}  # of the latents: large ones are far from Gaussian given labels


def scaled_case(n, leaf, amplitude, rng, **options):
    """`amplitude`: times that of make_case()."""
    case, draw = make_case(n, "gaussian", "constant", leaf, rng, **options)
    layers = (replace(layer, sigma2=layer.sigma2 * amplitude**2) for layer in draw.layers)
    return case, type(draw)(tuple(layers), draw.labels)


def log_p_labels(draw, turns, f):
    """(point) log p(labels) with f (point, turn, row) for the latents of the classes `turns`."""
    latents = np.zeros((len(f), len(draw.layers) + 1, len(draw.labels)))
    latents[:, :-1] = np.array([layer.y for layer in draw.layers])
    latents[:, turns] = f
    return sum(log_softmax(latents[:, :, i], axis=1)[:, label] for i, label in enumerate(draw.labels))


def by_grid(case, draw, turns, fine=False):
    """p(labels) under the prior of the latents of the classes `turns`, and their mean (turn, row) given labels. Large
    latents turn labels sharply: they need a fine grid."""
    shape = (len(turns), len(draw.labels))
    dims = int(np.prod(shape))
    grid = np.linspace(-6.5, 6.5, 261 if fine else 61 if dims < 4 else 39)
    laws = [prior_law(case, draw, turn) for turn in turns]
    total, moment = 0.0, np.zeros(shape)
    for first in grid:  # a slice at a time: all would be too much
        white = np.stack(np.meshgrid([first], *[grid] * (dims - 1), indexing="ij"), axis=-1).reshape(-1, *shape)
        f = np.stack([m + white[:, t] @ np.linalg.cholesky(cov).T for t, (m, cov, _) in enumerate(laws)], axis=1)
        p = np.exp(norm.logpdf(white).sum(axis=(1, 2)) + log_p_labels(draw, turns, f))
        total += p.sum()
        moment += np.tensordot(p, f, 1)
    return total * (grid[1] - grid[0]) ** dims, moment / total


def given_labels(case, draw, turns, rng, n):
    """(draw, turn, row): latents from their prior, kept by the probability of the labels."""
    kept = []
    while sum(map(len, kept)) < n:
        laws = [prior_law(case, draw, turn) for turn in turns]
        f = np.stack([rng.multivariate_normal(mean, cov, 4 * n) for mean, cov, _ in laws], axis=1)
        kept.append(f[np.log(rng.random(len(f))) < log_p_labels(draw, turns, f)])
    return np.concatenate(kept)[:n]


def z_score(values, expected):
    batches = values.reshape(BATCHES, -1).mean(axis=1)
    return (batches.mean() - expected) / (batches.std(ddof=1) / np.sqrt(BATCHES))


def rising(problem, state, tree, integral, mean, seed, draws):
    """Mean estimate 1, in units of the integral, and mean latents weighted by the estimate."""
    estimates, f = _testing.log_bridge(problem, state, tree, True, seed, draws)
    weight = np.exp(estimates) / integral
    off = (f - mean).reshape(draws, -1)
    scores = [z_score(weight, 1.0), *(z_score(weight * column, 0.0) for column in off.T)]
    return [Comparison(f"rising {i}", 2 * norm.sf(abs(z))) for i, z in enumerate(scores)]


def descending(problem, state, tree, latents, integral, seed):
    """Mean of the reciprocal, from latents (draw, turn, row) that the labels have seen."""
    reciprocals = []
    layers = state if latents.shape[1] > 1 else state[tree : tree + 1]
    for i, draw in enumerate(latents):
        for layer, f in zip(layers, draw, strict=True):
            layer["latent"] = f[None]
        reciprocals.append(np.exp(-_testing.log_bridge(problem, state, tree, False, seed + i, 1)[0][0]))
    return [Comparison("descending", 2 * norm.sf(abs(z_score(integral * np.array(reciprocals), 1.0))))]


def both_ways(case, draw, tree, turns, name, fine=False):
    problem = core_problem(case, draw.labels, "polya_gamma")
    state = core_state(problem, draw)
    integral, mean = by_grid(case, draw, turns, fine)

    def attempt(seed, scale):
        latents = given_labels(case, draw, turns, np.random.default_rng(seed), 10_000 * scale)
        return [
            *rising(problem, state, tree, integral, mean, seed, 20_000 * scale),
            *descending(problem, state, tree, latents, integral, seed),
        ]

    assert_gate(attempt, name)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("leaf", ["gp", "limiting"])
@pytest.mark.parametrize("amplitude", AMPLITUDES)
def test_estimates_are_unbiased_both_ways(amplitude, leaf, n_classes, request):
    rng = np.random.default_rng(seed_of(request.node.name))
    case, draw = scaled_case(3, leaf, AMPLITUDES[amplitude], rng, n_classes=n_classes)
    turn = n_classes - 2
    both_ways(case, draw, turn, [turn], request.node.name, fine=amplitude == "large")


@pytest.mark.parametrize("leaf", ["gp", "limiting"])
@pytest.mark.parametrize("amplitude", [1.0, 3.0])
def test_classes_that_share_a_tree_cross_together(amplitude, leaf, request):
    rng = np.random.default_rng(seed_of(request.node.name))
    case, draw = scaled_case(2, leaf, amplitude, rng, n_classes=3, shared=True)
    both_ways(case, draw, 0, [0, 1], request.node.name)


def test_a_rise_knows_neither_the_latents_it_replaces_nor_learned_sites():
    """With such latents the way back would have other sites; learned sites may be far off in a leaf that is new."""
    rng = np.random.default_rng(1)
    case, draw = make_case(5, "gaussian", "constant", "gp", rng, n_classes=3, shared=True)
    problem = core_problem(case, draw.labels, "polya_gamma")
    state = core_state(problem, draw)
    one = _testing.log_bridge(problem, state, 0, True, 1, 3)
    for layer in state:
        layer["latent"] = rng.normal(size=(1, 5))
        layer["site"] = rng.random((5, 2))
    other = _testing.log_bridge(problem, state, 0, True, 1, 3)
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_array_equal(one[1], other[1])


@pytest.mark.parametrize(("family", "n_classes"), [("ctgp", 2), ("otgp", 3)])
def test_the_screen_knows_the_learned_sites_but_not_the_latents_it_replaces(family, n_classes):
    """Else the way back would have another screen."""
    rng = np.random.default_rng(1)
    case = make_class_case(family, n_classes, "fixed")
    n = len(case.model.x)
    problem = core_problem(case, np.arange(n) % n_classes, "polya_gamma")
    state = _core.start(problem, 1, 0, False)

    def screens():
        return np.array([_testing.grow_screen(problem, state, 0, seed) for seed in range(5)])

    def change(name, values):
        for layer in state:
            layer[name] = values()
        return screens()

    learned = change("site", lambda: np.column_stack([rng.exponential(size=n), rng.normal(size=n)]))
    assert (learned != 0).all()
    np.testing.assert_array_equal(change("latent", lambda: rng.normal(size=(1, n))), learned)
    assert (change("site", lambda: np.tile([1.0, 0.5], (n, 1))) != learned).all()


@pytest.mark.parametrize(("n", "n_classes", "shared"), [(3, 2, False), (2, 3, True)])
def test_another_integral_is_seen(n, n_classes, shared):
    """That of one label turned over."""
    rng = np.random.default_rng(1)
    case, draw = make_case(n, "gaussian", "constant", "gp", rng, n_classes=n_classes, shared=shared)
    problem = core_problem(case, draw.labels, "polya_gamma")
    state, turns = core_state(problem, draw), list(range(n_classes - 1))
    other = type(draw)(draw.layers, np.where(np.arange(n) == 1, (1 + draw.labels) % n_classes, draw.labels))
    latents = given_labels(case, draw, turns, rng, 1_000)
    law, other_law = by_grid(case, draw, turns), by_grid(case, other, turns)
    assert not rejected(rising(problem, state, 0, *law, 1, 5_000))
    assert rejected(rising(problem, state, 0, *other_law, 1, 5_000))
    assert rejected(descending(problem, state, 0, latents, other_law[0], 1))


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


@pytest.mark.parametrize(("n_classes", "alike"), [(2, False), (2, True), (3, False), (3, True)])
def test_leaves_are_renewed_where_classes_or_ranges_hold_each_other(n_classes, alike):
    """Nothing else moves ranges here."""
    case = make_class_case("cgp", n_classes, "fixed", mean="constant" if alike else "linear")
    assert (case.model.prior.alike is not None) == alike
    problem = core_problem(case, np.arange(len(case.model.x)) % n_classes, "polya_gamma", tune=0, range_moves=0)
    for layer in _core.run(problem, _core.start(problem, 1, 0, True), 1, 0, 0, 500)["draws"]:
        assert (len(np.unique(layer["range"], axis=0)) > 1) == (n_classes > 2 or alike)
