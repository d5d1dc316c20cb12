"""The moves of classification leave what they act on invariant, exactly: a turn with omega fixed, on tiny data."""

from collections import defaultdict
from math import exp, log

import numpy as np
import pytest
from class_harness import MAKE, chain, fresh_vectors, leaf_counts, oracle_proposals, over_mass
from harness import (
    TREE_MOVES,
    Step,
    group_matrix,
    imbalance,
    transition_matrix,
    tree_mixture,
    whole_round,
)
from scipy.sparse.csgraph import connected_components

GROUPS = ["grow and prune", "change", "shift", "swap", "rotate"]
WITH_LEAF_MOVES = [
    "two classes",
    "two classes, sixteen vectors",
    "shared tree, two ranges",
    "shared tree, categorical",
    "shared tree, metropolis",
]

# As for regression: rounding is below these, an error of a formula far above.
ROUNDING = 1e-12
STATIONARY = 1e-10


@pytest.fixture(params=MAKE, name="case")
def each_case(request):
    return chain(request.param)


def every_move(case):
    return [(move, 0) for move in TREE_MOVES] + case.leaf_moves


def log_fresh_density_over_mass(case, move, i, branch):
    """The sigma2 of the vectors that grow draws or prune drops: density in the ratio, mass 1/2 in the enumeration."""
    if case.model.kind != "polya_gamma":
        return 0.0
    fresh = fresh_vectors(Step(case, move, i, branch))
    return sum(map(over_mass, fresh, case.hypers))


def test_the_cases_are_what_they_are_meant_to_be():
    assert {len(chain(name).hypers) for name in MAKE} == {1, 2}
    assert leaf_counts(chain("two classes")).max() == 3
    assert leaf_counts(chain("two classes, points alone")).max() == 4
    assert len({params for _, params in chain("two classes, sixteen vectors").states}) == 16 + 16**2
    assert len({params for _, params in chain("shared tree").states}) == 4 + 4**2 + 4**3
    assert leaf_counts(chain("class counts")).max() == 5


def test_reported_proposal_probabilities_are_the_sampled_ones(case):
    """q_forward is the log probability of the branch, times the weight of grow or prune, sigma2 with its density."""
    for move, leaf in every_move(case):
        weight = case.weights[move] if move in ("grow", "prune") else 1
        for i, branches in enumerate(case.branches(move, leaf)):
            assert sum(b.probability for b in branches) == pytest.approx(1, abs=ROUNDING)
            for b in branches:
                if b.target is not None:
                    extra = log_fresh_density_over_mass(case, move, i, b) if move == "grow" else 0.0
                    assert exp(b.terms["q_forward"] - extra) == pytest.approx(b.probability * weight, rel=ROUNDING)


def test_proposals_are_those_of_the_oracle(case):
    """The same multiset of (next state, q_forward, q_reverse)."""
    for move, leaf in every_move(case):
        back = {"grow": "prune", "prune": "grow"}.get(move)
        log_w, log_w_back = (log(case.weights[m]) if back else 0.0 for m in (move, back))
        for i, branches in enumerate(case.branches(move, leaf)):
            shipped, expected = defaultdict(list), defaultdict(list)
            for b in branches:
                if b.target is not None and b.target != i:
                    extra = log_fresh_density_over_mass(case, move, i, b) if back else 0.0
                    q = b.terms["q_forward"], b.terms["q_reverse"]
                    shipped[b.target].append((q[0] - extra * (move == "grow"), q[1] - extra * (move == "prune")))
            for p in oracle_proposals(case, i, move, leaf):
                if p.params is not None and (j := case.index[p.tree, p.params]) != i:
                    expected[j].append((log(p.q_forward) + log_w, log(p.q_reverse) + log_w_back))
            assert shipped.keys() == expected.keys()
            for j in shipped:
                np.testing.assert_allclose(sorted(shipped[j]), sorted(expected[j]), rtol=0, atol=ROUNDING)


def test_terms_of_the_target_are_those_of_the_oracle(case):
    over = np.array([case.log_density_over_mass(params) for _, params in case.states])
    for move, leaf in every_move(case):
        steps = [
            (i, b.target, b.terms)
            for i, branches in enumerate(case.branches(move, leaf))
            for b in branches
            if b.target is not None
        ]
        now, after = np.array([(i, j) for i, j, _ in steps], dtype=int).reshape(-1, 2).T
        for name, values in case.target_terms.items():
            values = values + over if name == "params_prior" else values
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
    moved = 0
    for move, leaf in case.leaf_moves:
        P = transition_matrix(case, move, leaf)
        worst, stationary = imbalance(case.pi, P)
        assert (P.diagonal() < 1 - 1e-3).any(), "the move must move"
        assert worst < ROUNDING
        assert stationary < STATIONARY
        moved += 1
    assert moved > 0


def test_the_tree_mixture_is_reversible(case):
    P = tree_mixture(case)
    worst, stationary = imbalance(case.pi, P)
    assert abs(P.sum(axis=1) - 1).max() < ROUNDING
    assert worst < ROUNDING
    assert stationary < STATIONARY
    assert imbalance(case.pi, whole_round(case))[1] < STATIONARY


@pytest.mark.parametrize("name", ["class counts", "two classes, points alone", "shared tree"])
def test_tree_moves_reach_every_state(name):
    """Fresh vectors reach every value of sigma2, so that no move of its own is needed here."""
    assert connected_components(tree_mixture(chain(name)) > 0, connection="strong")[0] == 1


def test_every_move_is_seen_in_every_kind_of_model():
    """No move passes because it never does anything."""
    kinds = {
        "one layer": ["two classes", "two classes, points alone"],
        "two layers": ["shared tree", "shared tree, metropolis"],
        "counts": ["class counts"],
    }
    for kind, names in kinds.items():
        for move in TREE_MOVES:
            states = [item for name in names for item in enumerate(chain(name).branches(move))]
            seen = sum(b.target not in (None, i) for i, branches in states for b in branches)
            assert seen > 100, (kind, move, seen)
