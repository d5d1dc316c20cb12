"""Every term of every move on random states, against the oracle computed from scratch."""

from dataclasses import dataclass
from functools import cache, partial
from math import log

import numpy as np
import pytest
from harness import TARGET, TREE_MOVES, WEIGHTS, split_data
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import moves, priors, simulate
from oracle.bridge import core_layer, core_problem, core_state, oracle_layer, oracle_state, preorder
from oracle.leaf import Hyper, LeafModel, LeafParams, conditional, design, lambda_residual, predict
from oracle.priors import LeafPrior
from oracle.rules import leaf_rows
from oracle.target import Model, State, log_ig, log_marginals, log_target, log_terms
from treedgp import _core, _testing

ALL_MOVES = (*TREE_MOVES, "range", "common range", "nugget")

# Marginal likelihoods are sums of n terms through a K of condition number up to about n / g: 1e-9 of their size.
RELATIVE = 1e-9


def close(actual, expected, scale=1.0):
    np.testing.assert_allclose(actual, expected, rtol=RELATIVE, atol=RELATIVE * max(1.0, scale))


# ---- random models and states


@dataclass(frozen=True)
class Settings:
    kernel: str
    mean: str
    coef: str
    ranges: str  # none | isotropic | separable | alike
    limiting: bool
    tau2_random: bool
    min_leaf: int
    n: int
    q: int
    levels: int  # 0: no categorical column
    ties: bool
    seed: int


@st.composite
def settings_of_a_model(draw):
    coef = draw(st.sampled_from(["flat", "hierarchical", "fixed"]))
    return Settings(
        kernel=draw(st.sampled_from(["gaussian", "matern12", "matern32", "matern52"])),
        mean=draw(st.sampled_from(["linear", "constant"])),
        coef=coef,
        ranges=draw(st.sampled_from(["none", "isotropic", "separable", "alike"])),
        limiting=draw(st.booleans()),
        tau2_random=coef == "hierarchical" or (coef == "fixed" and draw(st.booleans())),
        min_leaf=draw(st.integers(1, 4)),
        n=draw(st.integers(8, 24)),
        q=draw(st.integers(1, 3)),
        levels=draw(st.sampled_from([0, 2, 4])),
        ties=draw(st.booleans()),
        seed=draw(st.integers(0, 2**32 - 1)),
    )


@dataclass(frozen=True, eq=False)
class Case:
    model: Model
    state: State
    tau2: float

    @property
    def problem(self):
        return core_problem(self.model, self.state.hyper, self.tau2)

    @property
    def arrays(self):
        return core_state(self.state)


MIXTURE = (("gamma", 0.5, 1.0, 20.0), ("gamma", 0.5, 10.0, 10.0))
NUGGET = (("gamma", 1.0, 2.0, 8.0),)


ALIKE = 1.5


def make_prior(ranges, q, limiting):
    n_range = {"none": 0, "isotropic": 1}.get(ranges, q)
    alike = ALIKE if ranges == "alike" else None
    return LeafPrior(n_range, MIXTURE, NUGGET, (10, 0.2, 0.7) if limiting else None, alike)


def make_model(s, rng):
    x = rng.random((s.n, s.q))
    if s.ties:
        x = np.round(x, 1)
    columns, kinds = list(x.T), ["numeric"] * s.q
    if s.levels:
        columns.append(np.resize(np.arange(s.levels), s.n))
        kinds.append("categorical")
    leaf = LeafModel(s.kernel, s.mean, s.coef)
    split = split_data(
        columns,
        kinds,
        min_leaf=s.min_leaf,
        alpha=0.9,
        beta=0.7,
        F=design(leaf, x) if s.coef == "flat" else None,
    )
    prior = make_prior(s.ranges, s.q, s.limiting)
    learned = (0.2, 1.0) if s.coef == "hierarchical" else None
    return Model(x, rng.standard_normal(s.n), split, leaf, prior, s.tau2_random, learned, learned)


def make_case(s):
    """Tree, parameters and hyperparameters from their priors (flat coefficients need none)."""
    rng = np.random.default_rng(s.seed)
    model = make_model(s, rng)
    m = s.q + 1 if s.mean == "linear" else 1
    fixed = Hyper(0.3 * rng.standard_normal(m), np.eye(m) * 0.7, a_s=4.0, g_s=0.6, a_t=4.0, g_t=3.0)
    hyper = simulate.draw_hyper(model, fixed, rng)
    tree = simulate.draw_tree(model.split, rng)
    tau2 = 0.8
    params = tuple(simulate.draw_params(model, hyper, rng, tau2) for _ in leaf_rows(model.split, tree))
    return Case(model, State(tree, params, hyper), tau2)


cases = settings_of_a_model().map(make_case)
often = settings(max_examples=150, deadline=None, derandomize=True)


# ---- proposal probabilities, from the oracle

BLANK = LeafParams((), (), 0.0)
BLANK_PRIOR = LeafPrior(0, (), (("atom", 1.0, 0.0),))


def log_vector(case, p):
    """Log prior density of a leaf's whole vector."""
    prior, hyper = case.model.prior, case.state.hyper
    tau2 = log_ig(p.tau2, hyper.a_t, hyper.g_t) if case.model.tau2_random else 0.0
    return priors.log_p_d(prior, p) + priors.log_p_b(prior, p) + priors.log_p_g(prior, p) + tau2


def log_fresh(case, small, large):
    """Log density with which grow, from `small` to `large`, proposes the fresh vector."""
    kept, fresh = moves.grown_pair(small.tree, large.tree, small.params, large.params)
    scalars = ["tau2"] if case.model.tau2_random else []
    return priors.log_sibling(case.model.prior, log_vector(case, fresh), kept, fresh, scalars)


def log_q_tree(case, move, after):
    """(forward, reverse): the oracle's, which enumerates trees; the fresh vector's density on top."""
    now = case.state
    blank = (BLANK,) * len(now.params)
    found = getattr(moves, move)(case.model.split, BLANK_PRIOR, now.tree, blank)
    p = next(p for p in found if p.params is not None and p.tree == after.tree)
    forward, reverse = log(p.q_forward), log(p.q_reverse)
    if move == "grow":
        forward += log(WEIGHTS["grow"]) + log_fresh(case, now, after)
        reverse += log(WEIGHTS["prune"])
    if move == "prune":
        forward += log(WEIGHTS["prune"])
        reverse += log(WEIGHTS["grow"]) + log_fresh(case, after, now)
    return forward, reverse, 0.0


def log_q_scalar(log_p, now, after, walked):
    """A draw from the prior, or a symmetric walk on the log scale: forward, reverse, Jacobian."""
    if walked:
        return np.array([log(0.5), log(0.5), log(after / now)])
    return np.array([log(0.5) + log_p(v) for v in (after, now)] + [0.0])


def log_q_nugget(prior, now, new, walked):
    return log_q_scalar(partial(priors.log_mixture, prior.g), now.g, new.g, walked)


def log_q_range(prior, now, new, walked):
    """Which range, its step, and b given it."""
    i = next(i for i in range(prior.n_range) if now.d[i] != new.d[i])

    def log_p(d):
        return priors.log_range_given(prior, (*now.d[:i], d, *now.d[i + 1 :]), i)

    log_b = [log(priors.p_b(prior.limiting, p.d[i], p.b[i])) for p in (new, now)]
    return log_q_scalar(log_p, now.d[i], new.d[i], walked) - log(prior.n_range) + [*log_b, log(prior.n_range)]


def log_q_common_range(now, new):
    """A walk of all log ranges by the same step: nothing but its Jacobian."""
    factors = np.divide(new.d, now.d)
    assert new.b == now.b
    np.testing.assert_allclose(factors, factors[0], rtol=1e-12)
    return np.array([0.0, 0.0, np.log(factors).sum()])


def log_q_leaf(case, move, after, walked):
    prior = case.model.prior
    now, new = next((a, b) for a, b in zip(case.state.params, after.params, strict=True) if a != b)
    if move == "nugget":
        return log_q_nugget(prior, now, new, walked)
    if move == "common range":
        return log_q_common_range(now, new)
    return log_q_range(prior, now, new, walked)


def proposals(case, tries=3):
    """(move, terms, next state) of random proposals of all moves."""
    for move in ALL_MOVES:
        if move in ("range", "common range") and case.model.prior.n_range == 0:
            continue
        for seed in range(tries):
            leaf = seed % len(case.state.params) if move not in TREE_MOVES else 0
            proposed = _testing.propose(case.problem, case.arrays, move, leaf, seed)
            if proposed is not None:
                yield move, proposed[0], oracle_state(proposed[1])


def same_state(a, b):
    return a.tree == b.tree and a.params == b.params


# ---- the tests


@often
@given(cases)
def test_log_posterior_and_leaf_terms(case):
    terms = _testing.leaf_terms(case.problem, case.arrays)
    model, state = case.model, case.state
    close(terms["log_posterior"], log_target(model, state), scale=model.x.shape[0])
    close(terms["marginal"], log_marginals(model, state), scale=model.x.shape[0])
    for leaf, rows in enumerate(leaf_rows(model.split, state.tree)):
        x, y = model.x[list(rows)], model.y[list(rows)]
        c = conditional(model.leaf, state.hyper, x, y, state.params[leaf])
        close(terms["lambda"][leaf], lambda_residual(c, state.hyper, y))
        close(terms["log_det"][leaf], c.log_det_K)


def check_every_term(case):
    now = log_terms(case.model, case.state)
    scale = sum(abs(value) for value in now.values())
    for move, terms, after in proposals(case):
        then = log_terms(case.model, after)
        for name, parts in TARGET.items():
            close(terms[name], sum(then[part] - now[part] for part in parts), scale)
        change = sum(then.values()) - sum(now.values())
        close(sum(terms[name] for name in TARGET), change, scale)
        if move in TREE_MOVES:
            expected = log_q_tree(case, move, after)
        else:
            expected = log_q_leaf(case, move, after, walked=terms["log_jacobian"] != 0)
        close([terms[k] for k in ("q_forward", "q_reverse", "log_jacobian")], expected)
        close(terms["total"], change + expected[1] - expected[0] + expected[2], scale)


@often
@given(cases)
def test_every_term_of_every_move(case):
    check_every_term(case)


@pytest.mark.long
@settings(often, max_examples=3000)
@given(cases)
def test_every_term_of_every_move_on_more_states(case):
    check_every_term(case)


def steps_back(case, move, after):
    """The terms of every branch of the reverse move that leads from `after` to the case's state."""
    undo = {"grow": "prune", "prune": "grow"}.get(move, move)
    branches = _testing.enumerate(case.problem, core_state(after), undo)
    found = [proposed for _, proposed in branches if proposed is not None]
    return [terms for terms, arrays in found if same_state(oracle_state(arrays), case.state)]


@often
@given(cases)
def test_the_step_back_has_every_term_negated(case):
    """Grow and prune undo each other; change, shift, swap and rotate undo themselves: the product of ratios is 1."""
    scale = sum(abs(value) for value in log_terms(case.model, case.state).values())
    for move, terms, after in proposals(case):
        if move not in ("grow", "change", "shift", "swap", "rotate"):
            continue  # the step back of prune draws continuous values
        back = steps_back(case, move, after)
        assert back
        for b in back:
            for name in TARGET:
                close(b[name], -terms[name], scale)
            close((b["q_forward"], b["q_reverse"]), (terms["q_reverse"], terms["q_forward"]))
            close(b["total"], -terms["total"], scale)


def test_random_states_reach_every_move():
    """No move passes above because it never applied."""
    seen = dict.fromkeys(ALL_MOVES, 0)
    for seed in range(30):
        case = make_case(Settings("gaussian", "constant", "fixed", "separable", True, True, 1, 16, 2, 4, False, seed))
        for move, *_ in proposals(case):
            seen[move] += 1
    assert min(seen.values()) >= 5, seen


# ---- prediction


def leaf_of(split, tree, code, first=0):
    """Index of the leaf of a new row; a level never seen (-1) is on the rest side of every rule."""
    if tree is None:
        return first
    column, k, left, right = tree
    goes_left = code[column] <= k if split.kinds[column] == "numeric" else code[column] == k
    if goes_left:
        return leaf_of(split, left, code, first)
    return leaf_of(split, right, code, first + (len(preorder(left)) + 1) // 2)


@often
@given(cases, st.integers(0, 2**32 - 1))
def test_predictions_are_those_of_each_row_s_leaf(case, seed):
    model, state, rng = case.model, case.state, np.random.default_rng(seed)
    n_new = 6
    x = rng.random((n_new, model.x.shape[1])) * 1.5 - 0.2
    codes = np.column_stack(
        [
            rng.integers(0 if kind == "numeric" else -1, size, n_new)
            for kind, size in zip(model.split.kinds, model.split.sizes, strict=True)
        ]
    ).astype(np.int32)
    sigma2 = rng.gamma(3.0, size=len(state.params))
    home = np.array([leaf_of(model.split, state.tree, code) for code in codes])
    mean, var_y, cov = np.zeros(n_new), np.zeros(n_new), np.zeros((n_new, n_new))
    for leaf, rows in enumerate(leaf_rows(model.split, state.tree)):
        at, r = np.flatnonzero(home == leaf), list(rows)
        args = model.leaf, state.hyper, model.x[r], model.y[r], state.params[leaf], sigma2[leaf], x[at]
        mean[at], cov[np.ix_(at, at)] = predict(*args)
        var_y[at] = np.diag(predict(*args, of="y")[1])

    draws = core_layer(state, sigma2)
    close(_core.moments(case.problem, draws, 0, 1, x, codes)[:, 0], [mean, np.diag(cov), var_y], sigma2.max())
    got_mean, noise, got_cov = _core.joint(case.problem, draws, 0, x, codes)
    close(got_mean, mean)
    close(got_cov, cov, sigma2.max())
    close(noise, var_y - np.diag(cov), sigma2.max())


# ---- caches

LONG_RUNS = {
    "hierarchical separable": Settings(
        "gaussian", "linear", "hierarchical", "separable", True, True, 4, 40, 2, 3, False, 1
    ),
    "flat isotropic": Settings("matern32", "linear", "flat", "isotropic", True, False, 4, 40, 2, 0, True, 2),
    "fixed separable": Settings("matern52", "constant", "fixed", "separable", False, True, 2, 40, 3, 4, False, 3),
    "linear leaves": Settings("gaussian", "linear", "hierarchical", "none", False, True, 5, 40, 2, 3, False, 4),
}


@cache
def thousand_rounds(name, chunk):
    """1000 rounds, 300 of them tuning: the case, its problem, the last state, the draws and counts of each chunk."""
    case = make_case(LONG_RUNS[name])
    problem = core_problem(case.model, case.state.hyper, case.tau2, tune=300)
    state, chunks = case.arrays, []
    for begin in range(0, 1000, chunk):
        out = _core.run(problem, state, seed=7, chain=2, begin=begin, end=begin + chunk)
        state = out["state"]
        chunks.append(out)
    return case, problem, state, chunks


@pytest.mark.parametrize("name", LONG_RUNS)
def test_caches_equal_recomputation_after_a_thousand_rounds(name):
    """The log posterior that the chain reports, from what it kept up to date, is that of its state from scratch."""
    case, problem, state, (chunk,) = thousand_rounds(name, 1000)
    (kept,) = chunk["draws"]
    assert chunk["counts"][: len(TREE_MOVES), 1].sum() > 20, "the tree must have moved"
    assert kept["log_posterior"].shape == (700,)
    np.testing.assert_allclose(
        kept["log_posterior"][-1], _testing.leaf_terms(problem, state)["log_posterior"], rtol=1e-8
    )
    for draw in (0, 350, 699):
        np.testing.assert_allclose(
            kept["log_posterior"][draw], log_target(case.model, oracle_layer(kept, draw)), rtol=1e-8
        )
    assert same_state(oracle_state(state), oracle_layer(kept, 699))


@pytest.mark.parametrize("name", LONG_RUNS)
def test_ten_times_a_hundred_rounds_are_a_thousand(name):
    """Bit for bit."""
    *_, state, (chunk,) = thousand_rounds(name, 1000)
    *_, resumed, chunks = thousand_rounds(name, 100)
    (whole,), parts = chunk["draws"], [c["draws"][0] for c in chunks]
    np.testing.assert_array_equal(sum(c["counts"] for c in chunks), chunk["counts"])
    for key, value in state[0].items():
        np.testing.assert_array_equal(resumed[0][key], value, err_msg=key)
    for key, value in whole.items():
        if key == "node_start":
            together = np.concatenate([np.diff(part[key]) for part in parts])
            value = np.diff(value)
        else:
            together = np.concatenate([part[key] for part in parts])
        np.testing.assert_array_equal(together, value, err_msg=key)
