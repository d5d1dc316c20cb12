"""The shipped moves as transition matrices: every branch of every state, from treedgp._testing.enumerate.

A chain has discrete leaf parameters (atoms), so the states are (tree, parameters of each leaf), finitely many.
"""

from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import exp, inf, isnan

import numpy as np
from scipy.sparse import coo_array, csr_array

from oracle import moves, priors
from oracle.bridge import core_problem, core_state, oracle_state
from oracle.leaf import Hyper, LeafModel
from oracle.moves import Proposal, null
from oracle.priors import LeafPrior
from oracle.rules import SplitData, dense_ranks, leaf_rows
from oracle.target import Model, State, log_terms
from treedgp import _testing

TREE_MOVES = ("grow", "prune", "change", "shift", "swap", "rotate")
LEAF_MOVES = ("range", "nugget")
WEIGHTS = dict(zip(TREE_MOVES, (0.25, 0.25, 0.2, 0.1, 0.1, 0.1), strict=True))  # the schedule's default
UNEVEN = dict(zip(TREE_MOVES, (0.3, 0.15, 0.1, 0.25, 0.15, 0.05), strict=True))

# Terms of the target, by the name they have in a move's ratio.
TARGET = {
    "likelihood": ("likelihood",),
    "tree_prior": ("structure",),
    "rule_prior": ("rules",),
    "params_prior": ("d", "b", "g", "tau2"),
}


@dataclass(frozen=True)
class Branch:
    """A way a move can go: its probability, the shipped log ratio by terms, and the state it proposes.

    target = None: the state stays (nothing proposed, or a proposal of density zero).
    """

    probability: float
    terms: dict | None
    target: int | None


@dataclass(eq=False)
class Chain:
    model: Model
    hyper: Hyper
    tau2: float = 1.0
    weights: dict = field(default_factory=lambda: WEIGHTS)
    prior_only: bool = False

    def __post_init__(self):
        self.problem = core_problem(
            self.model, self.hyper, self.tau2, self.prior_only, weights=list(self.weights.values())
        )
        self.states = moves.all_states(self.split, self.prior, self.tau2)
        self.index = {state: i for i, state in enumerate(self.states)}
        self._branches = {}

    @property
    def split(self):
        return self.model.split

    @property
    def prior(self):
        return self.model.prior

    @cached_property
    def leaf_moves(self):
        """(move, leaf) of every leaf move that a round of the sampler plays."""
        most = max(len(params) for _, params in self.states)
        played = {"range": self.prior.n_range > 0, "nugget": len(self.prior.g) > 1}
        return [(move, i) for i in range(most) for move in LEAF_MOVES if played[move]]

    @cached_property
    def target_terms(self):
        """The oracle's terms of every state: {name in a ratio: (states,)}."""
        by_state = [log_terms(self.model, State(*state, self.hyper)) for state in self.states]
        if self.prior_only:
            by_state = [terms | {"likelihood": 0.0} for terms in by_state]
        return {
            name: np.array([sum(terms[part] for part in parts) for terms in by_state]) for name, parts in TARGET.items()
        }

    @cached_property
    def pi(self):
        log_pi = sum(self.target_terms.values())
        return np.exp(log_pi - np.logaddexp.reduce(log_pi))

    def branches(self, move, leaf=0):
        """Per state, the branches of the shipped move."""
        if (move, leaf) not in self._branches:
            self._branches[move, leaf] = [self._enumerate(i, move, leaf) for i in range(len(self.states))]
        return self._branches[move, leaf]

    def _enumerate(self, i, move, leaf):
        if move in LEAF_MOVES and leaf >= len(self.states[i][1]):  # no such leaf here
            return [Branch(1.0, None, None)]
        arrays = core_state(State(*self.states[i], self.hyper))
        return [
            self._branch(probability, proposed)
            for probability, proposed in _testing.enumerate(self.problem, arrays, move, leaf)
        ]

    def _branch(self, probability, proposed):
        if proposed is None:
            return Branch(probability, None, None)
        terms, arrays = proposed
        if isnan(terms["total"]) or terms["total"] == -inf:  # too deep, or a walk off (or on) the atoms
            return Branch(probability, terms, None)
        after = oracle_state(arrays)
        return Branch(probability, terms, self.index[after.tree, after.params])


def transition_matrix(chain, move, leaf=0, log_ratio=None):
    """P of one move: a branch is accepted with probability min(1, ratio).

    log_ratio(step) replaces the shipped total; `step` is a Step.
    """
    entries = []
    for i, branches in enumerate(chain.branches(move, leaf)):
        for branch in branches:
            accepted = 0.0
            if branch.target is not None:
                total = branch.terms["total"] if log_ratio is None else log_ratio(Step(chain, move, i, branch))
                accepted = exp(min(0.0, total))
                entries.append((i, branch.target, branch.probability * accepted))
            entries.append((i, i, branch.probability * (1 - accepted)))
    rows, columns, values = zip(*entries, strict=True)
    return csr_array(coo_array((values, (rows, columns)), shape=(len(chain.states),) * 2))


@dataclass(frozen=True)
class Step:
    """A branch with where it starts and ends, for those who compute its ratio anew."""

    chain: Chain
    move: str
    now_index: int
    branch: Branch

    @property
    def terms(self):
        return self.branch.terms

    @property
    def now(self):
        return self.chain.states[self.now_index]

    @property
    def after(self):
        return self.chain.states[self.branch.target]

    def total(self, **changed):
        """The sum of the terms, some of them changed."""
        t = self.terms | changed
        target = t["likelihood"] + t["tree_prior"] + t["rule_prior"] + t["params_prior"]
        return target + t["q_reverse"] - t["q_forward"] + t["log_jacobian"]


def group_matrix(chain, group, log_ratio=None):
    """P of "grow and prune", chosen by their weights, or of one move."""
    if group != "grow and prune":
        return transition_matrix(chain, group, log_ratio=log_ratio)
    w = chain.weights
    grow, prune = (transition_matrix(chain, move, log_ratio=log_ratio) for move in ("grow", "prune"))
    return (w["grow"] * grow + w["prune"] * prune) / (w["grow"] + w["prune"])


def tree_mixture(chain):
    return sum(weight * transition_matrix(chain, move) for move, weight in chain.weights.items())


def whole_round(chain):
    """A tree move, then the range and nugget moves of each leaf in turn."""
    P = tree_mixture(chain)
    for move, leaf in chain.leaf_moves:
        P = P @ transition_matrix(chain, move, leaf)
    return P


def imbalance(pi, P):
    """Largest violation of detailed balance, and the stationary error ||pi P - pi||_1."""
    flow = (P * pi[:, None]).tocsr()
    return abs(flow - flow.T).max(), abs(pi @ P - pi).sum()


# ---- what the oracle proposes


def oracle_leaf_move(prior, move, params, leaf):
    """Range and nugget on atoms. The walk leaves them, so that half of the time nothing happens."""
    p = params[leaf]

    def weight(atoms, value):
        return sum(w for _, w, at in atoms if at == value)

    def replaced(**changes):
        return (*params[:leaf], replace(p, **changes), *params[leaf + 1 :])

    if move == "nugget":
        back = weight(prior.g, p.g) / 2
        steps = [(replaced(g=g), w / 2, back) for _, w, g in prior.g]
    else:
        steps = []
        for i in range(prior.n_range):
            q = 1 / prior.n_range / 2
            back = q * weight(prior.d, p.d[i]) * priors.p_b(prior.limiting, p.d[i], p.b[i])
            for _, w, d in prior.d:
                for b in (0, 1):
                    after = replaced(d=(*p.d[:i], d, *p.d[i + 1 :]), b=(*p.b[:i], b, *p.b[i + 1 :]))
                    steps.append((after, q * w * priors.p_b(prior.limiting, d, b), back))
    return [(after, there, back) for after, there, back in steps if there > 0]


def oracle_proposals(chain, i, move, leaf=0):
    """The oracle's proposals of a move from state i; q without the weight of the move."""
    tree, params = chain.states[i]
    if move in TREE_MOVES:
        return getattr(moves, move)(chain.split, chain.prior, tree, params)
    if leaf >= len(params):
        return [null(1.0)]
    steps = oracle_leaf_move(chain.prior, move, params, leaf)
    return [Proposal(tree, after, there, back) for after, there, back in steps] + [null(0.5)]


# ---- the cases


def split_data(columns, kinds, **options):
    """Numeric columns as values, categorical ones as level indices."""
    codes = np.stack([dense_ranks(column) for column in columns], axis=1)
    return SplitData(codes, tuple(kinds), tuple(int(u) + 1 for u in codes.max(axis=0)), **options)


SCATTERED = np.array([[0.1, 0.5], [0.25, 0.9], [0.4, 0.05], [0.6, 0.7], [0.8, 0.3], [0.95, 0.6]])
EIGHT = np.array([[0, 2], [1, 5], [2, 0], [3, 7], [4, 3], [5, 6], [6, 1], [7, 4]]) / 7
Y = np.array([0.3, -0.6, 1.1, 0.9, -1.4, 0.2, 0.7, -0.2])
NUMERIC = ("numeric", "numeric")

ONE_VECTOR = LeafPrior(n_range=0, d=(), g=(("atom", 1.0, 0.0),))
TWO_RANGES = LeafPrior(n_range=1, d=(("atom", 0.3, 0.1), ("atom", 0.7, 0.9)), g=(("atom", 1.0, 0.2),))
EIGHT_VECTORS = LeafPrior(
    n_range=1,
    d=(("atom", 0.4, 0.1), ("atom", 0.6, 0.8)),
    g=(("atom", 0.3, 0.0), ("atom", 0.7, 0.5)),
    limiting=(10, 0.2, 0.7),
)
SEPARABLE = LeafPrior(
    n_range=2,
    d=(("atom", 0.4, 0.1), ("atom", 0.6, 0.8)),
    g=(("atom", 1.0, 0.1),),
    limiting=(10, 0.2, 0.7),
)


def chain_of(x, split, prior=ONE_VECTOR, kernel="gaussian", mean="constant", coef="fixed", **options):
    x = np.asarray(x, dtype=float).reshape(len(split.codes), -1)
    m = x.shape[1] + 1 if mean == "linear" else 1
    hyper = Hyper(np.full(m, 0.1), np.eye(m) * 0.8, a_s=3.0, g_s=1.0)
    model = Model(x, Y[: len(x)], split, LeafModel(kernel, mean, coef), prior)
    return Chain(model, hyper, **options)


def one_dimension(n=7, prior=ONE_VECTOR, **options):
    x = np.arange(n) / (n - 1)
    return chain_of(x, split_data([x], ["numeric"]), prior, **options)


def scattered(points, prior=ONE_VECTOR, weights=WEIGHTS, kernel="gaussian", **split):
    return chain_of(points, split_data(points.T, NUMERIC, **split), prior, kernel, weights=weights)


def mixed(levels, **split):
    """A categorical column and a numeric one."""
    values = SCATTERED[: len(levels), 1]
    return chain_of(values, split_data([levels, values], ["categorical", "numeric"], **split))


def rank_bound():
    """Flat prior, linear mean in a column of repeated values: a leaf needs two distinct ones."""
    x = np.array([0.0, 0.0, 0.5, 0.5, 1.0, 1.0])
    design = np.column_stack([np.ones(6), x])
    split = split_data([x, SCATTERED[:, 1]], NUMERIC, F=design)
    return chain_of(x, split, mean="linear", coef="flat")


MAKE = {
    "one dimension": one_dimension,
    "five scattered": lambda: scattered(SCATTERED[:5]),
    "eight scattered, pairs": lambda: scattered(EIGHT, min_leaf=2, alpha=0.8, beta=1.0),
    "uneven weights": lambda: scattered(SCATTERED[:4], weights=UNEVEN),
    "categorical": lambda: mixed([0, 1, 2, 0, 1]),
    "depth at most 2": lambda: scattered(SCATTERED, max_depth=2, alpha=0.9, beta=0.5),
    "rank": rank_bound,
    "two ranges": lambda: one_dimension(5, TWO_RANGES),
    "eight vectors": lambda: scattered(EIGHT[:5], EIGHT_VECTORS, min_leaf=2, kernel="matern32"),
    "separable": lambda: scattered(EIGHT[:5], SEPARABLE, min_leaf=2),
}
LONG = {
    "six scattered": lambda: scattered(SCATTERED, max_depth=4),
    "categorical, six": lambda: mixed([0, 1, 2, 0, 1, 2]),
    "eight vectors, three leaves": lambda: scattered(SCATTERED, EIGHT_VECTORS, min_leaf=2),
    "two ranges, matern": lambda: scattered(SCATTERED[:4], TWO_RANGES, kernel="matern52"),
}


@cache
def chain(name):
    return (MAKE | LONG)[name]()


def leaf_counts(c):
    return np.array([len(leaf_rows(c.split, tree)) for tree, _ in c.states])
