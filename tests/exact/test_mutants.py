"""The exact check can fail: one damaged term in the harness, never in shipped code, moves the stationary law.

Each damage is judged on the case that shows it, by ||pi P - pi||_1 of the move (grow with prune), which is below
1e-10 undamaged and must be above 1e-6 damaged. Run with -s to see the errors.
"""

from dataclasses import replace
from functools import wraps
from math import log

import numpy as np
import pytest
from harness import TREE_MOVES, chain, group_matrix, imbalance

from oracle import moves, priors, rules

UNDAMAGED = 1e-10
CLEAR = 1e-6


# ---- what a damaged formula needs to know of a step


def log_count(found):
    return log(len(found))


def other_vector(step):
    """The vector that grow drew afresh, or that prune drops: in the larger tree, not in the smaller."""
    small, large = sorted((step.now[1], step.after[1]), key=len)
    left = list(large)
    for vector in small:
        left.remove(vector)
    return left[0]


def log_fresh(step):
    return log(priors.p_fresh(step.chain.prior, other_vector(step)))


def first_difference(split, tree, other):
    """(path, rows) of the topmost node whose rule differs between two trees of the same shape."""
    nodes = moves.internal(split, tree)
    return next((path, rows) for path, node, rows in nodes if moves.at(other, path)[:2] != node[:2])


def changed_node(step):
    """(rows, rule now, rule after) of the one node whose rule differs."""
    now, after = step.now[0], step.after[0]
    path, rows = first_difference(step.chain.split, now, after)
    return rows, moves.at(now, path)[:2], moves.at(after, path)[:2]


def log_gap(split, rows, rule):
    """log of the number of cuts that give the partition of this rule."""
    return log(next(len(ks) for ks in rules.partitions(split, rows, rule[0]) if rule[1] in ks))


def log_structure_of_full_nodes(step, tree):
    """The structure prior as if every leaf could split."""
    split = step.chain.split
    p = [(node, split.alpha * (1 + depth) ** -split.beta) for _, node, _, depth in rules.walk(split, tree)]
    return sum(log(1 - q) if node is None else log(q) for node, q in p)


# ---- damages: step -> log ratio


def only_for(*names):
    """The damage applies to these moves; the others keep the shipped ratio."""

    def decorate(damage):
        @wraps(damage)
        def log_ratio(step):
            return damage(step) if step.move in names else step.terms["total"]

        return log_ratio

    return decorate


@only_for("grow")
def reverse_prune_count_plus_one(step):
    """Reasoned from the tree before, not asked of the proposed one."""
    right = log_count(moves.prunable(step.chain.split, step.after[0]))
    wrong = log(len(moves.prunable(step.chain.split, step.now[0])) + 1)
    return step.total(q_reverse=step.terms["q_reverse"] + right - wrong)


@only_for("grow")
def growable_count_off_by_one(step):
    n = len(moves.growable(step.chain.split, step.now[0]))
    return step.total(q_forward=step.terms["q_forward"] + log(n) - log(n + 1))


@only_for("prune")
def reverse_growable_counts_all_leaves(step):
    """Leaves that cannot split are counted too."""
    split, tree = step.chain.split, step.after[0]
    right, wrong = log_count(moves.growable(split, tree)), log_count(rules.leaf_rows(split, tree))
    return step.total(q_reverse=step.terms["q_reverse"] + right - wrong)


@only_for("grow")
def coin_omitted_on_one_side(step):
    return step.total(q_forward=step.terms["q_forward"] + log(2))


@only_for("grow", "prune")
def no_prior_of_the_fresh_child(step):
    return step.total(params_prior=0.0)


@only_for("grow", "prune")
def proposal_without_the_fresh_density(step):
    side = "q_forward" if step.move == "grow" else "q_reverse"
    return step.total(**{side: step.terms[side] - log_fresh(step)})


@only_for("grow")
def weights_of_the_moves_exchanged(step):
    w = step.chain.weights
    return step.terms["total"] + 2 * log(w["grow"] / w["prune"])


@only_for(*TREE_MOVES)
def stop_term_ignores_admissibility(step):
    now, after = (log_structure_of_full_nodes(step, tree) for tree, _ in (step.now, step.after))
    return step.total(tree_prior=after - now)


@only_for("change")
def change_without_the_rules_below(step):
    rows, now, after = changed_node(step)
    split = step.chain.split
    return step.total(rule_prior=rules.log_rule(split, rows, after) - rules.log_rule(split, rows, now))


@only_for("change", "shift", "swap", "rotate")
def no_structure_term(step):
    return step.total(tree_prior=0.0)


@only_for("change", "shift", "swap", "rotate")
def no_rule_prior(step):
    return step.total(rule_prior=0.0)


@only_for("shift")
def shift_without_the_gaps(step):
    rows, now, after = changed_node(step)
    split = step.chain.split
    return step.total(
        q_forward=step.terms["q_forward"] + log_gap(split, rows, after),
        q_reverse=step.terms["q_reverse"] + log_gap(split, rows, now),
    )


@only_for("swap")
def only_the_leaf_likelihood(step):
    return step.terms["likelihood"]


@only_for(*TREE_MOVES)
def likelihood_at_half_power(step):
    return step.total(likelihood=step.terms["likelihood"] / 2)


@only_for("range", "nugget")
def leaf_move_counts_the_prior_twice(step):
    """A draw from the prior cancels the prior's term; here that term is left in."""
    return step.terms["likelihood"] + step.terms["params_prior"]


PAIR = "grow and prune"
MUTANTS = [
    (reverse_prune_count_plus_one, PAIR, "one dimension"),
    (growable_count_off_by_one, PAIR, "one dimension"),
    (reverse_growable_counts_all_leaves, PAIR, "five scattered"),
    (coin_omitted_on_one_side, PAIR, "one dimension"),
    (no_prior_of_the_fresh_child, PAIR, "two ranges"),
    (no_prior_of_the_fresh_child, PAIR, "eight vectors"),
    (proposal_without_the_fresh_density, PAIR, "two ranges"),
    (proposal_without_the_fresh_density, PAIR, "separable"),
    (weights_of_the_moves_exchanged, PAIR, "uneven weights"),
    (stop_term_ignores_admissibility, PAIR, "one dimension"),
    (stop_term_ignores_admissibility, PAIR, "rank"),
    (stop_term_ignores_admissibility, "change", "eight scattered, pairs"),
    (change_without_the_rules_below, "change", "five scattered"),
    (no_structure_term, "change", "five scattered"),
    (no_structure_term, "rotate", "one dimension"),
    (no_rule_prior, "rotate", "one dimension"),
    (no_rule_prior, "swap", "five scattered"),
    (shift_without_the_gaps, "shift", "five scattered"),
    (only_the_leaf_likelihood, "swap", "five scattered"),
    (only_the_leaf_likelihood, "swap", "categorical"),
    (likelihood_at_half_power, PAIR, "five scattered"),
    (likelihood_at_half_power, "change", "categorical"),
    (leaf_move_counts_the_prior_twice, "range", "eight vectors"),
    (leaf_move_counts_the_prior_twice, "nugget", "eight vectors"),
]


@pytest.mark.parametrize(("damage", "group", "name"), MUTANTS, ids=[f"{d.__name__}-{g}-{n}" for d, g, n in MUTANTS])
def test_the_check_sees(damage, group, name):
    case = chain(name)
    right, wrong = (imbalance(case.pi, group_matrix(case, group, ratio))[1] for ratio in (None, damage))
    print(f"{wrong:.1e}")
    assert right < UNDAMAGED
    assert wrong > CLEAR


# ---- re-applied thresholds re-centred on the node's own data


def snapped(split, tree, rows):
    """Each cut becomes the middle one of those that give its partition of the node's rows."""
    if tree is None:
        return None
    column, k, left, right = tree
    same = next(ks for ks in rules.partitions(split, rows, column) if k in ks)
    middle = same[len(same) // 2]
    left_rows, right_rows = rules.children(split, rows, column, middle)
    return (column, middle, snapped(split, left, left_rows), snapped(split, right, right_rows))


def snapping(move):
    """A move of the oracle whose untouched descendants are re-centred."""

    def propose(split, prior, tree, params):
        proposals = []
        for p in move(split, prior, tree, params):
            if p.params is not None and p.tree != tree:
                path, rows = first_difference(split, tree, p.tree)
                column, k, left, right = moves.at(p.tree, path)
                left_rows, right_rows = rules.children(split, rows, column, k)
                below = snapped(split, left, left_rows), snapped(split, right, right_rows)
                p = replace(p, tree=moves.replace(p.tree, path, (column, k, *below)))
            proposals.append(p)
        return proposals

    return propose


def oracle_error(case, move):
    P = moves.transition_matrix(case.split, case.prior, case.states, np.log(case.pi), move)
    return imbalance(case.pi, P)[1]


@pytest.mark.parametrize("move", [moves.change, moves.shift, moves.swap])
def test_the_check_sees_thresholds_snapped_to_the_data_of_their_node(move):
    case = chain("five scattered")
    wrong = oracle_error(case, snapping(move))
    print(f"{wrong:.1e}")
    assert oracle_error(case, move) < UNDAMAGED
    assert wrong > CLEAR


def test_one_dimension_does_not_show_snapped_thresholds():
    """Why there are scattered points: in one dimension each partition has a single cut."""
    case = chain("one dimension")
    assert oracle_error(case, snapping(moves.change)) < UNDAMAGED
