"""The shipped moves leave the posterior invariant, exactly: transition matrices over all states of tiny data."""

from collections import defaultdict
from math import exp, log

import numpy as np
import pytest
from harness import (
    LONG,
    MAKE,
    TARGET,
    TREE_MOVES,
    chain,
    group_matrix,
    imbalance,
    leaf_counts,
    one_dimension,
    oracle_proposals,
    transition_matrix,
    tree_mixture,
    whole_round,
)
from scipy.sparse.csgraph import connected_components

from oracle.bridge import core_state
from oracle.target import State
from treedgp import _testing

CASES = [*MAKE, *(pytest.param(name, marks=pytest.mark.long) for name in LONG)]
GROUPS = ["grow and prune", "change", "shift", "swap", "rotate"]
WITH_LEAF_MOVES = ["two ranges", "eight vectors", "separable"]

# Sums of up to a few thousand doubles below 1: rounding is below these, an error of a formula far above.
ROUNDING = 1e-12
STATIONARY = 1e-10


@pytest.fixture(params=CASES, name="case")
def each_case(request):
    return chain(request.param)


def every_move(case):
    return [(move, 0) for move in TREE_MOVES] + case.leaf_moves


def test_the_cases_are_what_they_are_meant_to_be():
    assert len(chain("one dimension").states) == 731
    assert leaf_counts(chain("five scattered")).max() == 5
    assert leaf_counts(chain("eight scattered, pairs")).max() == 4
    assert len({params for _, params in chain("eight vectors").states}) == 8 + 64


def test_branch_probabilities_sum_to_one(case):
    for move, leaf in every_move(case):
        for branches in case.branches(move, leaf):
            assert sum(b.probability for b in branches) == pytest.approx(1, abs=ROUNDING)


def test_reported_proposal_probabilities_are_the_sampled_ones(case):
    """q_forward is the log probability with which the branch was taken, times the weight of grow or prune."""
    for move, leaf in every_move(case):
        weight = case.weights[move] if move in ("grow", "prune") else 1
        for branches in case.branches(move, leaf):
            for b in branches:
                if b.terms is not None:
                    assert exp(b.terms["q_forward"]) == pytest.approx(b.probability * weight, rel=ROUNDING)


def test_total_is_the_sum_of_the_terms(case):
    for move, leaf in every_move(case):
        for branches in case.branches(move, leaf):
            for t in (b.terms for b in branches if b.target is not None):
                target = sum(t[name] for name in TARGET)
                proposal = t["q_reverse"] - t["q_forward"] + t["log_jacobian"]
                assert t["total"] == pytest.approx(target + proposal, abs=1e-11)
                assert t["log_jacobian"] == 0 or move in ("range", "nugget")


def test_proposals_are_those_of_the_oracle(case):
    """The same multiset of (next state, q_forward, q_reverse); what stays has the same probability."""
    for move, leaf in every_move(case):
        back = {"grow": "prune", "prune": "grow"}.get(move)
        log_w, log_w_back = (log(case.weights[m]) if back else 0.0 for m in (move, back))
        for i, branches in enumerate(case.branches(move, leaf)):
            shipped, expected = defaultdict(list), defaultdict(list)
            for b in branches:
                if b.target is not None and b.target != i:
                    shipped[b.target].append((b.terms["q_forward"], b.terms["q_reverse"]))
            for p in oracle_proposals(case, i, move, leaf):
                if p.params is not None and (j := case.index[p.tree, p.params]) != i:
                    expected[j].append((log(p.q_forward) + log_w, log(p.q_reverse) + log_w_back))
            assert shipped.keys() == expected.keys()
            for j in shipped:
                np.testing.assert_allclose(sorted(shipped[j]), sorted(expected[j]), rtol=0, atol=1e-12)


def test_terms_of_the_target_are_those_of_the_oracle(case):
    for move, leaf in every_move(case):
        steps = [
            (i, b.target, b.terms)
            for i, branches in enumerate(case.branches(move, leaf))
            for b in branches
            if b.target is not None
        ]
        now, after = np.array([(i, j) for i, j, _ in steps], dtype=int).reshape(-1, 2).T
        for name, values in case.target_terms.items():
            shipped = np.array([terms[name] for *_, terms in steps])
            np.testing.assert_allclose(shipped, values[after] - values[now], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("group", GROUPS)
def test_each_tree_move_alone_is_reversible(case, group):
    P = group_matrix(case, group)
    worst, stationary = imbalance(case.pi, P)
    assert abs(P.sum(axis=1) - 1).max() < ROUNDING
    assert worst < ROUNDING
    assert stationary < STATIONARY


@pytest.mark.parametrize("case", WITH_LEAF_MOVES, indirect=True)
def test_each_leaf_move_alone_is_reversible(case):
    for move, leaf in case.leaf_moves:
        P = transition_matrix(case, move, leaf)
        worst, stationary = imbalance(case.pi, P)
        assert (P.diagonal() < 1 - 1e-3).any(), "the move must move"
        assert worst < ROUNDING
        assert stationary < STATIONARY


def test_the_tree_mixture_is_reversible_and_irreducible(case):
    P = tree_mixture(case)
    worst, stationary = imbalance(case.pi, P)
    assert worst < ROUNDING
    assert stationary < STATIONARY
    P = whole_round(case)
    assert connected_components(P > 0, connection="strong")[0] == 1
    assert abs(P.sum(axis=1) - 1).max() < ROUNDING
    assert imbalance(case.pi, P)[1] < STATIONARY  # moves in turn: invariant, no longer reversible


@pytest.mark.parametrize("name", ["uneven weights", "rank", "eight vectors"])
def test_the_chain_has_one_stationary_law(name):
    """Second-largest eigenvalue below 1, and the law it converges to is the posterior."""
    case = chain(name)
    values, vectors = np.linalg.eig(whole_round(case).toarray().T)
    order = np.argsort(-abs(values))
    assert abs(values[order[1]]) < 1 - 1e-4
    law = vectors[:, order[0]].real
    np.testing.assert_allclose(law / law.sum(), case.pi, atol=1e-10)


def test_moves_that_apply_are_seen_in_some_case():
    """No move passes because it never does anything."""
    for move in TREE_MOVES:
        states = [item for name in MAKE for item in enumerate(chain(name).branches(move))]
        assert sum(b.target not in (None, i) for i, branches in states for b in branches) > 500, move


# ---- the prior alone


def test_leaf_count_fixture_without_the_likelihood():
    """x = (0, 0.5, 1), alpha 0.5, beta 2: P(1, 2, 3 leaves) = 0.5, 0.4375, 0.0625."""
    case = one_dimension(3, prior_only=True)
    P = tree_mixture(case).toarray()
    equations = np.vstack([P.T - np.eye(len(P)), np.ones(len(P))])
    law = np.linalg.lstsq(equations, np.append(np.zeros(len(P)), 1), rcond=None)[0]
    probabilities = np.bincount(leaf_counts(case), weights=law)[1:]
    np.testing.assert_allclose(probabilities, [0.5, 0.4375, 0.0625], rtol=1e-12)


@pytest.mark.parametrize("name", ["five scattered", "categorical", "depth at most 2", "eight vectors"])
def test_the_prior_sums_to_one(name):
    """exp(log_posterior) of the core without the likelihood, over all states."""
    full = chain(name)
    case = type(full)(full.model, full.hyper, full.tau2, prior_only=True)
    logs = [
        _testing.leaf_terms(case.problem, core_state(State(*state, case.hyper)))["log_posterior"]
        for state in case.states
    ]
    assert np.exp(logs).sum() == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(np.exp(logs), case.pi, rtol=1e-11)
