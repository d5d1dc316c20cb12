"""Every proposal of every tree move, with its probability and that of the step back.

Each function takes (split, prior, tree, params) and returns proposals whose q_forward sum to 1. The
probability of choosing the move itself is not part of q. A null step (nothing to move, or an inadmissible
result) has params = None.
"""

from dataclasses import dataclass
from itertools import product
from math import exp, inf, log

from scipy.sparse import coo_array

from .leaf import LeafParams
from .priors import p_fresh, support
from .rules import all_trees, leaf_rows, log_p_tree, p_split, partitions, rule_proposal, walk


@dataclass(frozen=True)
class Proposal:
    tree: tuple | None
    params: tuple[LeafParams, ...] | None  # None: null, the state stays
    q_forward: float
    q_reverse: float


def null(q):
    return Proposal(None, None, q, 0.0)


def replace(tree, path, new):
    """The tree with the node at path replaced."""
    if not path:
        return new
    column, k, left, right = tree
    if path[0] == 0:
        return (column, k, replace(left, path[1:], new), right)
    return (column, k, left, replace(right, path[1:], new))


def at(tree, path):
    """The node at path."""
    for side in path:
        tree = tree[2 + side]
    return tree


def grown_pair(small, large, params, grown):
    """Of the leaf of tree `small` that is two in tree `large`: the vector that it keeps, and the fresh one."""
    i = grown_leaf(small, large)
    pair = list(grown[i : i + 2])
    pair.remove(params[i])
    return params[i], pair[0]


def grown_leaf(small, large):
    """Index of the leaf of tree `small` that is a node of tree `large`; the number of leaves if there is none."""
    if small is None:
        return 0 if large is not None else 1
    left = grown_leaf(small[2], large[2])
    return left if left < count_leaves(small[2]) else left + grown_leaf(small[3], large[3])


def count_leaves(tree):
    return 1 if tree is None else count_leaves(tree[2]) + count_leaves(tree[3])


def growable(split, tree):
    """(leaf index, path, rows) of the leaves that may split."""
    leaves = enumerate(visit for visit in walk(split, tree) if visit[1] is None)
    return [(i, path, rows) for i, (path, _, rows, depth) in leaves if p_split(split, rows, depth) > 0]


def internal(split, tree):
    """(path, node, rows) of the internal nodes."""
    return [(path, node, rows) for path, node, rows, _ in walk(split, tree) if node is not None]


def prunable(split, tree):
    """(index of the left child among the leaves, path, node, rows) of the nodes with two leaf children."""
    leaf_paths = [path for path, node, _, _ in walk(split, tree) if node is None]
    return [
        (leaf_paths.index((*path, 0)), path, node, rows)
        for path, node, rows in internal(split, tree)
        if node[2] is None and node[3] is None
    ]


def grow(split, prior, tree, params):
    """A growable leaf, a rule, a coin for who inherits, a fresh vector for the other."""
    leaves = growable(split, tree)
    proposals = []
    for i, path, rows in leaves:
        inherited = params[i]
        for (column, k), p_rule in rule_proposal(split, rows).items():
            next_tree = replace(tree, path, (column, k, None, None))
            q_reverse = 1 / len(prunable(split, next_tree)) / 2
            for fresh in support(prior, inherited.tau2):
                q_forward = 1 / len(leaves) * p_rule / 2 * p_fresh(prior, fresh)
                for pair in [(inherited, fresh), (fresh, inherited)]:
                    next_params = (*params[:i], *pair, *params[i + 1 :])
                    proposals.append(Proposal(next_tree, next_params, q_forward, q_reverse))
    return proposals or [null(1.0)]


def prune(split, prior, tree, params):
    """A node with two leaf children, a coin for whose vector survives."""
    nodes = prunable(split, tree)
    proposals = []
    for i, path, node, rows in nodes:
        next_tree = replace(tree, path, None)
        p_grow_here = 1 / len(growable(split, next_tree)) * rule_proposal(split, rows)[node[:2]] / 2
        for survivor, lost in [(params[i], params[i + 1]), (params[i + 1], params[i])]:
            next_params = (*params[:i], survivor, *params[i + 2 :])
            q_reverse = p_grow_here * p_fresh(prior, lost)
            proposals.append(Proposal(next_tree, next_params, 1 / len(nodes) / 2, q_reverse))
    return proposals or [null(1.0)]


def proposal_if_admissible(split, next_tree, params, q_forward, q_reverse):
    if log_p_tree(split, next_tree) == -inf:
        return null(q_forward)
    return Proposal(next_tree, params, q_forward, q_reverse)


def change(split, prior, tree, params):
    """An internal node, a new rule; the rules below are re-applied by position."""
    nodes = internal(split, tree)
    return [
        proposal_if_admissible(
            split,
            replace(tree, path, (*rule, *node[2:])),
            params,
            p_rule / len(nodes),
            rule_proposal(split, rows)[node[:2]] / len(nodes),
        )
        for path, node, rows in nodes
        for rule, p_rule in rule_proposal(split, rows).items()
    ] or [null(1.0)]


def shift(split, prior, tree, params):
    """An internal node; its numeric cut steps one admissible partition up or down, k uniform there."""
    nodes = internal(split, tree)
    proposals = []
    for path, (column, k, left, right), rows in nodes:
        if split.kinds[column] != "numeric":
            proposals.append(null(1 / len(nodes)))
            continue
        gaps = partitions(split, rows, column)
        here = next(j for j, ks in enumerate(gaps) if k in ks)
        for to in (here - 1, here + 1):
            q_step = 1 / len(nodes) / 2
            if not 0 <= to < len(gaps):
                proposals.append(null(q_step))
                continue
            for next_k in gaps[to]:
                next_tree = replace(tree, path, (column, next_k, left, right))
                q = q_step / len(gaps[to]), q_step / len(gaps[here])
                proposals.append(proposal_if_admissible(split, next_tree, params, *q))
    return proposals or [null(1.0)]


def swapped(parent, child, side):
    """Parent and child exchange their rules; everything else stays in position."""
    below = list(parent[2:])
    below[side] = (*parent[:2], *child[2:])
    return (*child[:2], *below)


def rotated(parent, child, side):
    """The child takes the parent's place; the leaves keep their order."""
    rule, (left, right) = parent[:2], parent[2:]
    child_rule, (child_left, child_right) = child[:2], child[2:]
    if side == 1:
        return (*child_rule, (*rule, left, child_left), child_right)
    return (*child_rule, child_left, (*rule, child_right, right))


def pairwise(split, tree, params, is_eligible, rebuilt):
    """A non-root internal node and its parent; the step back picks the pair in the same place."""
    paths = [path for path, _, _ in internal(split, tree) if path]
    proposals = []
    for path in paths:
        parent, child, side = at(tree, path[:-1]), at(tree, path), path[-1]
        q = 1 / len(paths)
        if is_eligible(parent[0], child[0]):
            next_tree = replace(tree, path[:-1], rebuilt(parent, child, side))
            q_reverse = 1 / len([path for path, _, _ in internal(split, next_tree) if path])
            proposals.append(proposal_if_admissible(split, next_tree, params, q, q_reverse))
        else:
            proposals.append(null(q))
    return proposals or [null(1.0)]


def swap(split, prior, tree, params):
    """Different columns, or the same categorical column."""

    def is_eligible(parent_column, child_column):
        return parent_column != child_column or split.kinds[parent_column] == "categorical"

    return pairwise(split, tree, params, is_eligible, swapped)


def rotate(split, prior, tree, params):
    """The same numeric column."""

    def is_eligible(parent_column, child_column):
        return parent_column == child_column and split.kinds[parent_column] == "numeric"

    return pairwise(split, tree, params, is_eligible, rotated)


def all_states(split, prior, tau2=1.0):
    """Every (tree, params) of atom priors."""
    vectors = support(prior, tau2)
    return [
        (tree, params) for tree in all_trees(split) for params in product(vectors, repeat=len(leaf_rows(split, tree)))
    ]


def transition_matrix(split, prior, states, log_pi, propose):
    """P of one move with acceptance min(1, pi' q_reverse / (pi q_forward)), branch by branch."""
    index = {state: i for i, state in enumerate(states)}
    rows, columns, values = [], [], []
    for i, (tree, params) in enumerate(states):
        for move in propose(split, prior, tree, params):
            if move.params is None:
                moves_to = [(i, move.q_forward)]
            else:
                j = index[move.tree, move.params]
                accepted = exp(min(0.0, log_pi[j] - log_pi[i] + log(move.q_reverse / move.q_forward)))
                moves_to = [(j, move.q_forward * accepted), (i, move.q_forward * (1 - accepted))]
            for j, p in moves_to:
                rows.append(i)
                columns.append(j)
                values.append(p)
    return coo_array((values, (rows, columns)), shape=(len(states), len(states))).tocsr()
