"""Every term of every move of classification on random states, and the posterior, against the oracle."""

from dataclasses import dataclass, replace
from functools import cache
from math import log

import numpy as np
import pytest
from harness import TREE_MOVES, WEIGHTS, split_data
from hypothesis import given, settings
from hypothesis import strategies as st
from test_terms import BLANK, BLANK_PRIOR, close, log_q_common_range, log_q_nugget, log_q_range, make_prior

from oracle import moves, priors, simulate
from oracle.bridge import core_classes, core_problem, core_trees, oracle_trees
from oracle.classes import (
    KINDS,
    ClassLayer,
    ClassModel,
    ClassState,
    Turn,
    layer_marginals,
    log_class_posterior,
    log_labels,
    log_move_terms,
    log_prior_of_params,
)
from oracle.leaf import Hyper, LeafModel
from oracle.priors import LeafPrior
from oracle.rules import leaf_rows, nearest
from treedgp import _core, _testing

LEAF_MOVES = ("range", "common range", "nugget", "sigma2", "tau2", "renew")
ALL_MOVES = (*TREE_MOVES, *LEAF_MOVES)
FIELDS = ("likelihood", "tree_prior", "rule_prior", "params_prior")
TAU2 = 0.8


# ---- random models and states


@dataclass(frozen=True)
class Settings:
    kind: str
    n_classes: int
    shared_tree: bool
    kernel: str = "gaussian"
    mean: str = "constant"
    coef: str = "fixed"
    ranges: str = "separable"  # none | isotropic | separable | alike
    limiting: bool = True
    tau2_random: bool = True
    learned: bool = False
    min_leaf: int = 1
    n: int = 16
    q: int = 2
    levels: int = 4  # 0: no categorical column
    ties: bool = False
    seed: int = 0


@st.composite
def settings_of_a_model(draw, one_tree=False):
    """`one_tree`: a chain whose moves can be asked for, hence two classes or a shared tree."""
    kind = draw(st.sampled_from(KINDS))
    coef = draw(st.sampled_from(["hierarchical", "fixed"]))
    shared = draw(st.booleans())
    return Settings(
        kind=kind,
        n_classes=draw(st.integers(2, 4 if shared or kind == "counts" or not one_tree else 2)),
        shared_tree=shared,
        kernel=draw(st.sampled_from(["gaussian", "matern12", "matern32", "matern52"])),
        mean=draw(st.sampled_from(["linear", "constant"])),
        coef=coef,
        ranges=draw(st.sampled_from(["none", "isotropic", "separable", "alike"])),
        limiting=draw(st.booleans()),
        tau2_random=coef == "hierarchical" or draw(st.booleans()),
        learned=draw(st.booleans()),
        min_leaf=draw(st.integers(1, 4)),
        n=draw(st.integers(8, 24)),
        q=draw(st.integers(1, 3)),
        levels=draw(st.sampled_from([0, 2, 4])),
        ties=draw(st.booleans()),
        seed=draw(st.integers(0, 2**32 - 1)),
    )


@dataclass(frozen=True, eq=False)
class Case:
    model: ClassModel
    trees: list[ClassState]
    turn: Turn | None

    def problem(self, **schedule):
        hyper = self.trees[0].layers[0].hyper
        return core_problem(self.model, hyper, TAU2, classes=core_classes(self.model), **schedule)

    @property
    def state(self):
        """Of a chain of one tree."""
        (state,) = self.trees
        return state

    @property
    def turn_arguments(self):
        return {"turn": self.turn.layer, "y": self.turn.y, "noise": self.turn.noise} if self.turn else {}


def make_model(s, rng):
    x = rng.random((s.n, s.q))
    if s.ties:
        x = np.round(x, 1)
    columns, kinds = list(x.T), ["numeric"] * s.q
    if s.levels:
        columns.append(np.resize(np.arange(s.levels), s.n))
        kinds.append("categorical")
    counts = s.kind == "counts"
    labels = rng.integers(s.n_classes, size=s.n)
    neighbours = () if counts else nearest(x, labels)
    rates = (0.2, 1.0) if s.learned and not counts else None
    return ClassModel(
        x,
        np.zeros(s.n),
        split_data(columns, kinds, min_leaf=s.min_leaf, alpha=0.9, beta=0.7, neighbours=neighbours),
        LeafModel(s.kernel, s.mean, "fixed" if counts else s.coef),
        LeafPrior(0, (), (("atom", 1.0, 0.0),)) if counts else make_prior(s.ranges, s.q, s.limiting),
        tau2_random=s.tau2_random and not counts,
        s2_rates=rates,
        tau2_rates=rates if s.tau2_random else None,
        labels=labels,
        n_classes=s.n_classes,
        kind=s.kind,
        shared_tree=s.shared_tree,
    )


def make_layer(model, tree, rng):
    """Parameters and hyperparameters from their priors; latents of about their size."""
    m = model.x.shape[1] + 1 if model.leaf.mean == "linear" else 1
    fixed = Hyper(0.3 * rng.standard_normal(m), np.eye(m) * rng.uniform(0.5, 2), a_s=4.0, g_s=6.0, a_t=4.0, g_t=3.0)
    hyper = simulate.draw_hyper(model, fixed, rng)
    params = []
    for _ in leaf_rows(model.split, tree):
        p = simulate.draw_params(model, hyper, rng, TAU2)
        explicit = model.kind == "polya_gamma"
        params.append(replace(p, sigma2=simulate.draw_ig(hyper.a_s, hyper.g_s, rng)) if explicit else p)
    return ClassLayer(tuple(params), hyper, 2 * rng.standard_normal(len(model.x)))


def make_case(s):
    rng = np.random.default_rng(s.seed)
    model = make_model(s, rng)
    together = model.shared_tree or model.kind == "counts"
    trees = []
    for _ in range(1 if together else model.n_layers):
        tree = simulate.draw_tree(model.split, rng)
        layers = [make_layer(model, tree, rng) for _ in range(model.n_layers if together else 1)]
        trees.append(ClassState(tree, tuple(layers)))
    turn = None
    if model.kind == "polya_gamma":
        noise = 1 / rng.gamma(2.0, 0.06, size=s.n)  # about the 1/omega of latents of this size
        turn = Turn(int(rng.integers(len(trees[0].layers))), 3 * rng.standard_normal(s.n), noise)
    return Case(model, trees, turn)


one_tree = settings_of_a_model(one_tree=True).map(make_case)
any_trees = settings_of_a_model().map(make_case)
often = settings(max_examples=100, deadline=None, derandomize=True)


# ---- proposal probabilities, from the oracle


def log_vectors(case, now, after):
    """Log density of the vectors, one a layer, that are in the larger state but not in the smaller."""
    total = 0.0
    scalars = ["tau2"] * case.model.tau2_random + ["sigma2"] * (case.model.kind == "polya_gamma")
    small, large = sorted((now, after), key=lambda state: len(state.layers[0].params))
    for a, b in zip(small.layers, large.layers, strict=True):
        kept, fresh = moves.grown_pair(small.tree, large.tree, a.params, b.params)
        log_p = log_prior_of_params(case.model, replace(a, params=(fresh,)))
        total += priors.log_sibling(case.model.prior, log_p, kept, fresh, scalars)
    return total


def log_q_tree(case, move, after):
    """Forward, reverse, Jacobian: the oracle's of the tree with a single coin; the other layers' coins and the fresh
    vectors' densities on top.
    """
    now = case.state
    blank = (BLANK,) * len(now.layers[0].params)
    found = getattr(moves, move)(case.model.split, BLANK_PRIOR, now.tree, blank)
    p = next(p for p in found if p.params is not None and p.tree == after.tree)
    q = np.log([p.q_forward, p.q_reverse, 1.0])
    if move in ("grow", "prune"):
        back = {"grow": "prune", "prune": "grow"}[move]
        q += [log(WEIGHTS[move]), log(WEIGHTS[back]), 0]
        q[:2] += (len(now.layers) - 1) * log(0.5)
        q[0 if move == "grow" else 1] += log_vectors(case, now, after)
    return q


def log_q_leaf(case, move, after, walked):
    layer = case.turn.layer if case.turn else 0
    moved = case.state.layers[layer]
    prior, pairs = case.model.prior, zip(moved.params, after.layers[layer].params, strict=True)
    now, new = next((a, b) for a, b in pairs if a != b)
    if move == "renew":
        return np.array([*(log_prior_of_params(case.model, replace(moved, params=(p,))) for p in (new, now)), 0.0])
    if move in ("sigma2", "tau2"):
        return np.array([0.0, 0.0, log(getattr(new, move) / getattr(now, move))])
    if move == "nugget":
        return log_q_nugget(prior, now, new, walked)
    if move == "common range":
        return log_q_common_range(now, new)
    return log_q_range(prior, now, new, walked)


def applies(model, move):
    """Is it a move that rounds of this model play?"""
    return {
        "range": model.kind != "counts" and model.prior.n_range > 0,
        "common range": model.kind != "counts" and model.prior.n_range > 0,
        "nugget": model.kind != "counts",
        "sigma2": model.kind == "polya_gamma",
        "tau2": model.kind == "polya_gamma" and model.tau2_random,
        "renew": model.kind == "polya_gamma",
    }.get(move, True)


def proposals(case, tries=2):
    """(move, terms, next state) of random proposals of all moves."""
    problem, arrays = case.problem(), core_trees(case.model, case.trees)
    leaves = len(case.state.layers[0].params)
    for move in ALL_MOVES:
        for seed in range(tries if applies(case.model, move) else 0):
            leaf = seed % leaves if move in LEAF_MOVES else 0
            proposed = _testing.propose(problem, arrays, move, leaf, seed, **case.turn_arguments)
            if proposed is not None:
                (after,) = oracle_trees(case.model, proposed[1])
                layers = zip(after.layers, case.state.layers, strict=True)
                yield move, proposed[0], replace(after, layers=tuple(replace(a, f=b.f) for a, b in layers))


def same_state(a, b):
    return a.tree == b.tree and all(x.params == y.params for x, y in zip(a.layers, b.layers, strict=True))


# ---- the tests


def check_every_term(case):
    now = log_move_terms(case.model, case.state, case.turn)
    scale = sum(abs(value) for value in now.values())
    for move, terms, after in proposals(case):
        then = log_move_terms(case.model, after, case.turn)
        for name in FIELDS:
            close(terms[name], then[name] - now[name], scale)
        if move in TREE_MOVES:
            expected = log_q_tree(case, move, after)
        else:
            expected = log_q_leaf(case, move, after, walked=terms["log_jacobian"] != 0)
        close([terms[k] for k in ("q_forward", "q_reverse", "log_jacobian")], expected)
        change = sum(then.values()) - sum(now.values())
        close(terms["total"], change + expected[1] - expected[0] + expected[2], scale)


@often
@given(one_tree)
def test_every_term_of_every_move(case):
    check_every_term(case)


@pytest.mark.long
@settings(often, max_examples=3000)
@given(one_tree)
def test_every_term_of_every_move_on_more_states(case):
    check_every_term(case)


@often
@given(one_tree)
def test_a_move_of_a_leaf_leaves_the_rest_alone(case):
    layer = case.turn.layer if case.turn else 0
    for seed, (move, _, after) in enumerate(proposals(case)):
        if move not in LEAF_MOVES:
            continue
        assert after.tree == case.state.tree
        for i, (a, b) in enumerate(zip(case.state.layers, after.layers, strict=True)):
            changed = sum(p != q for p, q in zip(a.params, b.params, strict=True))
            assert changed == (i == layer), (seed, move)


@often
@given(one_tree)
def test_the_step_back_has_every_term_negated(case):
    scale = sum(abs(value) for value in log_move_terms(case.model, case.state, case.turn).values())
    for move, terms, after in proposals(case):
        if move not in ("grow", "change", "shift", "swap", "rotate"):
            continue  # the step back of the others draws continuous values
        undo = "prune" if move == "grow" else move
        arrays = core_trees(case.model, [after])
        branches = _testing.enumerate(case.problem(), arrays, undo, **case.turn_arguments)
        found = [(t, *oracle_trees(case.model, a)) for _, b in branches if b is not None for t, a in [b]]
        back = [t for t, state in found if same_state(state, case.state)]
        assert back
        for b in back:
            for name in FIELDS:
                close(b[name], -terms[name], scale)
            close((b["q_forward"], b["q_reverse"]), (terms["q_reverse"], terms["q_forward"]))
            close(b["total"], -terms["total"], scale)


@often
@given(any_trees)
def test_log_posterior_and_marginals(case):
    """log p(labels | f) + log p(f | trees, parameters) + priors; the marginals that moves see, of the first layer."""
    terms = _testing.leaf_terms(case.problem(), core_trees(case.model, case.trees))
    expected = log_class_posterior(case.model, case.trees)
    close(terms["log_posterior"], expected, scale=case.model.n_layers * len(case.model.x))
    first = case.trees[0]
    close(terms["marginal"], layer_marginals(case.model, first.tree, first.layers[0]), scale=len(case.model.x))


@often
@given(any_trees.filter(lambda case: case.model.kind != "counts"))
def test_labels_do_not_matter_where_latents_are_zero(case):
    """Every class, the base one too, then has the share 1 / M: the posterior is that of the latents less n log M."""
    still = [replace(s, layers=tuple(replace(layer, f=0 * layer.f) for layer in s.layers)) for s in case.trees]
    values = [
        _testing.leaf_terms(replace(case, model=model).problem(), core_trees(model, still))["log_posterior"]
        for model in (case.model, replace(case.model, labels=np.roll(case.model.labels, 1)))
    ]
    assert values[0] == values[1]
    n = len(case.model.x)
    of_latents = log_class_posterior(case.model, still) - log_labels(case.model, np.zeros((case.model.n_layers, n)))
    close(values[0], of_latents - n * log(case.model.n_classes), scale=n)


def test_random_states_reach_every_move():
    """No move passes above because it never applied, whatever the kind of model."""
    for kind, n_classes in (("polya_gamma", 2), ("polya_gamma", 3), ("metropolis", 3), ("counts", 3)):
        seen = dict.fromkeys(ALL_MOVES, 0)
        for seed in range(30):
            case = make_case(Settings(kind, n_classes, shared_tree=n_classes > 2, seed=seed))
            for move, *_ in proposals(case):
                seen[move] += 1
        wanted = [move for move in ALL_MOVES if applies(case.model, move)]
        assert len(wanted) >= len(TREE_MOVES)
        assert min(seen[move] for move in wanted) >= 5, (kind, n_classes, seen)


# ---- caches

LONG_RUNS = {
    "per class": Settings("polya_gamma", 3, False, coef="hierarchical", learned=True, min_leaf=4, n=36, seed=1),
    "shared": Settings("polya_gamma", 3, True, kernel="matern32", min_leaf=4, n=36, seed=2),
    "shared, linear mean": Settings("polya_gamma", 4, True, mean="linear", learned=True, min_leaf=5, n=36, seed=3),
    "per class, metropolis": Settings("metropolis", 3, False, min_leaf=4, n=36, seed=4),
    "shared, metropolis": Settings("metropolis", 3, True, coef="hierarchical", min_leaf=4, n=36, seed=5),
    "counts": Settings("counts", 3, False, min_leaf=2, n=36, seed=6),
}


@cache
def thousand_rounds(name, chunk):
    """1000 rounds, 300 of them tuning: the case, its problem, the last state, what each chunk gave."""
    case = make_case(LONG_RUNS[name])
    problem, state, chunks = case.problem(tune=300), core_trees(case.model, case.trees), []
    for begin in range(0, 1000, chunk):
        out = _core.run(problem, state, seed=7, chain=2, begin=begin, end=begin + chunk)
        state = out["state"]
        chunks.append(out)
    return case, problem, state, chunks


@pytest.mark.parametrize("name", LONG_RUNS)
def test_caches_equal_recomputation_after_a_thousand_rounds(name):
    """The log posterior that the chain reports, from what it kept up to date, is that of its state from scratch."""
    case, problem, state, (chunk,) = thousand_rounds(name, 1000)
    kept = chunk["draws"]
    assert len(kept) == case.model.n_layers
    assert chunk["counts"][: len(TREE_MOVES), 1].sum() > 20, "the tree must have moved"
    for layer in kept:
        assert layer["log_posterior"].shape == (700,)
        np.testing.assert_array_equal(layer["log_posterior"], kept[0]["log_posterior"])
    from_scratch = _testing.leaf_terms(problem, state)["log_posterior"]
    np.testing.assert_allclose(kept[0]["log_posterior"][-1], from_scratch, rtol=1e-8)
    for draw in (0, 350, 699):
        expected = log_class_posterior(case.model, oracle_trees(case.model, kept, draw))
        np.testing.assert_allclose(kept[0]["log_posterior"][draw], expected, rtol=1e-8)


@pytest.mark.parametrize("name", LONG_RUNS)
def test_ten_times_a_hundred_rounds_are_a_thousand(name):
    """Bit for bit, in every layer."""
    *_, state, (chunk,) = thousand_rounds(name, 1000)
    *_, resumed, chunks = thousand_rounds(name, 100)
    np.testing.assert_array_equal(sum(c["counts"] for c in chunks), chunk["counts"])
    for ours, theirs in zip(resumed, state, strict=True):
        for key, value in theirs.items():
            np.testing.assert_array_equal(ours[key], value, err_msg=key)
    for layer, whole in enumerate(chunk["draws"]):
        parts = [c["draws"][layer] for c in chunks]
        for key, value in whole.items():
            if key == "node_start":
                together, value = np.concatenate([np.diff(part[key]) for part in parts]), np.diff(value)
            else:
                together = np.concatenate([part[key] for part in parts])
            np.testing.assert_array_equal(together, value, err_msg=key)
