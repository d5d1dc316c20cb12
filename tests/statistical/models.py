"""Small models whose whole joint law can be simulated directly: every leaf kind with every proper coefficient
prior, on 12 rows with two numeric columns (one with ties) and a categorical one.

Hyperpriors are chosen so that the chains mix; the statistics are bounded, so that no moment need exist:

* tree: alpha 0.55, beta 0.5, so P(2 or more leaves) = 0.55 and half of those split again; min_leaf 1 to 3;
* ranges: 0.5 G(2, 10) + 0.5 G(8, 8), correlations from near 0 to near 1 on [0, 1]; nugget: G(2, 5), whose
  mean is 0.4 and which has no density at 0, where a leaf would fix its own parameters;
* `alike` ranges: a leaf's scale has the law of ranges, r_i ~ G(3, 3);
* sigma2 ~ IG(a_s/2, g_s/2), a_s = 2 + Exp(0.2), g_s ~ Exp(0.2); with a fixed tau2: a_s = 5, g_s = 4, fixed;
* tau2 ~ IG(a_t/2, g_t/2); hierarchical: a_t = 2 + Exp(0.2), g_t ~ Exp(0.5); otherwise a_t = 6, g_t = 3, fixed;
* `fixed` coefficient priors have a mean that is not 0 and a covariance that is not diagonal.
"""

from dataclasses import dataclass, replace

import numpy as np

from oracle.leaf import Hyper, LeafModel
from oracle.priors import LeafPrior
from oracle.rules import SplitData, dense_ranks
from oracle.target import Model

X = np.column_stack(
    [
        [0.00, 0.11, 0.17, 0.31, 0.36, 0.44, 0.58, 0.63, 0.72, 0.85, 0.93, 1.00],
        [0.6, 0.2, 1.0, 0.0, 0.8, 0.4, 0.2, 0.8, 0.0, 1.0, 0.6, 0.2],
    ]
)
LEVELS = np.array([0, 1, 0, 2, 1, 0, 1, 2, 0, 2, 1, 0])
RANGES = (("gamma", 0.5, 2.0, 10.0), ("gamma", 0.5, 8.0, 8.0))
NUGGET = (("gamma", 1.0, 2.0, 5.0),)
LIMITING = (10.0, 0.2, 0.7)
NO_NOISE = (("atom", 1.0, 0.0),)
TAU2 = 0.7

ALIKE = 3.0

KINDS = ("constant", "linear", "gp", "llm", "matern", "alike")
PRIORS = ("bmznot", "bmzt", "b0")


@dataclass(frozen=True, eq=False)
class Case:
    """A model, the values of what it holds fixed, and tau2 where that is fixed."""

    model: Model
    fixed: Hyper
    tau2: float = TAU2


def _leaf(kind):
    """(kernel, mean, prior of (d, b, g), min_leaf)."""
    return {
        "constant": ("gaussian", "constant", LeafPrior(0, RANGES, NO_NOISE), 1),
        "linear": ("gaussian", "linear", LeafPrior(0, RANGES, NO_NOISE), 3),
        "gp": ("gaussian", "linear", LeafPrior(2, RANGES, NUGGET), 2),
        "llm": ("gaussian", "linear", LeafPrior(2, RANGES, NUGGET, LIMITING), 3),
        "alike": ("gaussian", "constant", LeafPrior(2, RANGES, NUGGET, LIMITING, ALIKE), 2),
        "matern": ("matern32", "constant", LeafPrior(1, RANGES, NUGGET), 1),
    }[kind]


def _fixed_hyper(m, hierarchical):
    if hierarchical:
        return Hyper(np.zeros(m), np.eye(m))
    off_diagonal = 0.3 * (np.ones((m, m)) - np.eye(m))
    beta0, w_inv = np.array([0.5, -0.4, 0.3]), np.diag([1.0, 1.4, 0.8])
    return Hyper(beta0[:m], w_inv[:m, :m] + off_diagonal, a_s=5.0, g_s=4.0, a_t=6.0, g_t=3.0)


def make_case(kind, prior):
    """A leaf kind with a fixed tau2 (bmznot), a random one (bmzt), or the hierarchical prior (b0)."""
    kernel, mean, leaf_prior, min_leaf = _leaf(kind)
    codes = np.column_stack([dense_ranks(X[:, 0]), dense_ranks(X[:, 1]), LEVELS])
    sizes = tuple(codes.max(axis=0) + 1)
    split = SplitData(codes, ("numeric", "numeric", "categorical"), sizes, min_leaf, alpha=0.55, beta=0.5)
    model = Model(
        X,
        np.zeros(len(X)),
        split,
        LeafModel(kernel, mean, "hierarchical" if prior == "b0" else "fixed"),
        leaf_prior,
        tau2_random=prior != "bmznot",
        s2_rates=None if prior == "bmznot" else (0.2, 0.2),
        tau2_rates=(0.2, 0.5) if prior == "b0" else None,
    )
    return Case(model, _fixed_hyper(3 if mean == "linear" else 1, prior == "b0"))


def with_model(case, **changes):
    return replace(case, model=replace(case.model, **changes))
