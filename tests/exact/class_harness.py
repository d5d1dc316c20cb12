"""The moves of a turn of classification as transition matrices, with omega fixed: the labels are data y with noise.

The fresh draw of sigma2 is replaced by two values of probability 1/2 each (cpp/testing/enumerator.hpp), so the target
has mass 1/2 on each too. Ratios hold the density of sigma2 instead, once in the target and once in the proposal.
"""

from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import inf, isnan, log

import numpy as np
from harness import (
    EIGHT,
    EIGHT_VECTORS,
    LEAF_MOVES,
    NUMERIC,
    ONE_VECTOR,
    SCATTERED,
    TREE_MOVES,
    TWO_RANGES,
    UNEVEN,
    WEIGHTS,
    Branch,
    oracle_leaf_move,
    split_data,
)

from oracle import classes
from oracle.bridge import core_classes, core_problem, core_trees, oracle_trees
from oracle.classes import ClassLayer, ClassModel, ClassState, Turn, log_move_terms
from oracle.leaf import Hyper, LeafModel
from oracle.moves import Proposal, null
from oracle.priors import LeafPrior
from oracle.rules import leaf_rows, nearest
from oracle.target import log_ig
from treedgp import _testing

GAMMAS = (2.0, 0.7)  # what Enumerator.gamma gives


@dataclass(eq=False)
class ClassChain:
    """A chain of one tree; `turn` is None where moves see the latents as they stand."""

    model: ClassModel
    hypers: tuple[Hyper, ...]  # by layer
    latents: np.ndarray  # (layers, n)
    turn: Turn | None
    tau2: float = 1.0
    weights: dict = field(default_factory=lambda: WEIGHTS)

    def __post_init__(self):
        weights = list(self.weights.values())
        self.problem = core_problem(
            self.model, self.hypers[0], self.tau2, classes=core_classes(self.model), weights=weights
        )
        self.vectors = [classes.vectors(self.prior, self.tau2, self.sigma2_atoms(hyper)) for hyper in self.hypers]
        self.states = classes.all_states(self.split, self.vectors)
        self.index = {state: i for i, state in enumerate(self.states)}
        self._branches = {}

    def sigma2_atoms(self, hyper):
        return [0.5 * hyper.g_s / value for value in GAMMAS] if self.model.kind == "polya_gamma" else [1.0]

    @property
    def split(self):
        return self.model.split

    @property
    def prior(self):
        return self.model.prior

    @property
    def moving(self):
        """The layer whose leaves move."""
        return self.turn.layer if self.turn else 0

    @cached_property
    def leaf_moves(self):
        """(move, leaf) of every leaf move on atoms that a turn plays."""
        if self.model.kind == "counts":
            return []
        most = max(len(params[0]) for _, params in self.states)
        played = {"range": len({(p.d, p.b) for p in self.vectors[0]}) > 1, "nugget": len(self.prior.g) > 1}
        return [(move, i) for i in range(most) for move in LEAF_MOVES if played[move]]

    def state(self, i):
        tree, params = self.states[i]
        return ClassState(tree, tuple(map(ClassLayer, params, self.hypers, self.latents)))

    def terms_of(self, **changed):
        """The oracle's terms of every state, {name: (states,)}, of this chain or of one with another model or turn."""
        of = {"model": self.model, "turn": self.turn, "sigma2": lambda p, hyper: log(0.5)} | changed
        by_state = [log_move_terms(state=self.state(i), **of) for i in range(len(self.states))]
        return {name: np.array([terms[name] for terms in by_state]) for name in by_state[0]}

    @cached_property
    def target_terms(self):
        return self.terms_of()

    @cached_property
    def pi(self):
        log_pi = sum(self.target_terms.values())
        return np.exp(log_pi - np.logaddexp.reduce(log_pi))

    def log_density_over_mass(self, params):
        """What ratios hold for the sigma2 of all vectors, less what the target here holds."""
        if self.model.kind != "polya_gamma":
            return 0.0
        return sum(over_mass(p, hyper) for layer, hyper in zip(params, self.hypers, strict=True) for p in layer)

    def branches(self, move, leaf=0):
        """Per state, the branches of the shipped move."""
        if (move, leaf) not in self._branches:
            self._branches[move, leaf] = [self._enumerate(i, move, leaf) for i in range(len(self.states))]
        return self._branches[move, leaf]

    def _enumerate(self, i, move, leaf):
        if move in LEAF_MOVES and leaf >= len(self.states[i][1][0]):  # no such leaf here
            return [Branch(1.0, None, None)]
        arrays = core_trees(self.model, [self.state(i)])
        data = {"turn": self.turn.layer, "y": self.turn.y, "noise": self.turn.noise} if self.turn else {}
        return [
            self._branch(probability, proposed)
            for probability, proposed in _testing.enumerate(self.problem, arrays, move, leaf, **data)
        ]

    def _branch(self, probability, proposed):
        if proposed is None:
            return Branch(probability, None, None)
        terms, arrays = proposed
        if isnan(terms["total"]) or terms["total"] == -inf:
            return Branch(probability, terms, None)
        (after,) = oracle_trees(self.model, arrays)
        params = tuple(layer.params for layer in after.layers)
        return Branch(probability, terms, self.index[after.tree, params])


@cache
def over_mass(p, hyper):
    """The density of a vector's sigma2 over the mass 1/2 it has here, in logs."""
    return log_ig(p.sigma2, hyper.a_s, hyper.g_s) - log(0.5)


def fresh_vectors(step):
    """By layer, the vector that grow drew, or that prune drops."""
    found = []
    for now, after in zip(step.now[1], step.after[1], strict=True):
        small, large = sorted((now, after), key=len)
        left = list(large)
        for vector in small:
            left.remove(vector)
        found.append(left[0])
    return found


def oracle_proposals(chain, i, move, leaf=0):
    """The oracle's proposals of a move from state i; q without the weight of the move."""
    tree, params = chain.states[i]
    if move in TREE_MOVES:
        return classes.propose(move, chain.split, chain.prior, tree, params, chain.vectors)
    layer, moving = params[chain.moving], chain.moving
    if leaf >= len(layer):
        return [null(1.0)]
    proposals = [null(0.5)]
    for after, there, back in oracle_leaf_move(chain.prior, move, layer, leaf):
        proposals.append(Proposal(tree, (*params[:moving], after, *params[moving + 1 :]), there, back))
    return proposals


# ---- the cases

LABELS = np.array([0, 1, 2, 0, 1, 2, 2, 0])
LATENTS = np.array([[0.9, -0.7, 1.6, 0.2, -1.1, 0.4], [-0.4, 1.2, -0.9, -1.5, 0.6, 0.8]])
Y = np.array([1.7, -2.1, 0.6, 2.4, -0.9, -1.6])
NOISE = np.array([4.1, 5.3, 9.7, 4.4, 6.2, 12.5])  # 1 / omega is at least 4

# sigma2 has two atoms wherever it is explicit, on top of these.
GP_OR_LINEAR = LeafPrior(n_range=1, d=(("atom", 1.0, 0.4),), g=(("atom", 1.0, 0.1),), limiting=(10, 0.2, 0.7))
ONE_GP = LeafPrior(n_range=1, d=(("atom", 1.0, 0.4),), g=(("atom", 1.0, 0.1),))
TWO_NUGGETS = replace(ONE_GP, g=(("atom", 0.4, 0.05), ("atom", 0.6, 0.6)))


def chain_of(x, split, prior, kind="polya_gamma", n_classes=2, turn=0, kernel="gaussian", mean="constant", **options):
    x = np.asarray(x, dtype=float).reshape(len(split.codes), -1)
    n, m = x.shape[0], x.shape[1] + 1 if mean == "linear" else 1
    labels = np.minimum(LABELS[:n], n_classes - 1)
    if kind != "counts":
        split = replace(split, neighbours=nearest(x, labels))
    model = ClassModel(
        x,
        np.zeros(n),
        split,
        LeafModel(kernel, mean, "fixed"),
        prior,
        labels=labels,
        n_classes=n_classes,
        kind=kind,
        shared_tree=n_classes > 2,
    )
    hypers = (
        Hyper(np.full(m, 0.3), np.eye(m) * 0.8, a_s=3.0, g_s=2.0),
        Hyper(np.full(m, -0.2), np.eye(m) * 1.7, a_s=5.0, g_s=6.0),
    )[: model.n_layers]
    data = Turn(turn, Y[:n], NOISE[:n]) if kind == "polya_gamma" else None
    return ClassChain(model, hypers, LATENTS[: model.n_layers, :n], data, **options)


def scattered(points, prior, weights=WEIGHTS, split=None, **options):
    return chain_of(points, split_data(points.T, NUMERIC, **(split or {})), prior, weights=weights, **options)


def mixed(levels, prior, split=None, **options):
    """A categorical column and a numeric one."""
    values = SCATTERED[: len(levels), 1]
    data = split_data([levels, values], ["categorical", "numeric"], **(split or {}))
    return chain_of(values, data, prior, **options)


PAIRS = {"min_leaf": 2, "alpha": 0.8, "beta": 1.0}
SHALLOW = {"max_depth": 2, "alpha": 0.8, "beta": 0.7}
STUMPS = {"max_depth": 1, "alpha": 0.8}

MAKE = {
    "two classes": lambda: scattered(SCATTERED, GP_OR_LINEAR, split=PAIRS),
    "two classes, points alone": lambda: scattered(SCATTERED[:4], ONE_GP, kernel="matern32", weights=UNEVEN),
    "two classes, sixteen vectors": lambda: scattered(EIGHT[:5], EIGHT_VECTORS, split={"min_leaf": 2}),
    "two classes, linear mean": lambda: scattered(EIGHT[:5], GP_OR_LINEAR, split={"min_leaf": 2}, mean="linear"),
    "two classes, categorical": lambda: mixed([0, 1, 2, 0, 1], ONE_GP, split=SHALLOW),
    "shared tree": lambda: scattered(SCATTERED, ONE_GP, n_classes=3, split=PAIRS),
    "shared tree, second turn": lambda: scattered(SCATTERED, ONE_GP, n_classes=3, split=PAIRS, turn=1),
    "shared tree, two ranges": lambda: scattered(
        EIGHT[:5], TWO_RANGES, n_classes=3, split={"min_leaf": 2}, turn=1, kernel="matern52"
    ),
    "shared tree, categorical": lambda: mixed([0, 1, 2, 0], TWO_NUGGETS, n_classes=3, split=STUMPS, turn=1),
    "shared tree, metropolis": lambda: scattered(SCATTERED, GP_OR_LINEAR, kind="metropolis", n_classes=3, split=PAIRS),
    "class counts": lambda: scattered(SCATTERED[:5], ONE_VECTOR, kind="counts", n_classes=3),
    "class counts, categorical": lambda: mixed([0, 1, 2, 0, 1], ONE_VECTOR, kind="counts", n_classes=2),
}


@cache
def chain(name):
    return MAKE[name]()


def leaf_counts(c):
    return np.array([len(leaf_rows(c.split, tree)) for tree, _ in c.states])
