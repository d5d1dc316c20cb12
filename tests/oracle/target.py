"""The collapsed log posterior of a regression state: beta and sigma2 of every leaf integrated out."""

from dataclasses import dataclass
from math import inf, log

import numpy as np
from scipy.stats import invgamma, multivariate_normal, wishart

from .leaf import Hyper, LeafModel, LeafParams, log_M
from .priors import LeafPrior, log_p_b, log_p_d, log_p_g
from .rules import SplitData, leaf_rows, log_rules, log_structure


@dataclass(frozen=True, eq=False)
class Model:
    """Data and priors. Rates None: that pair of hyperparameters is fixed."""

    x: np.ndarray  # (n, q)
    y: np.ndarray  # (n,)
    split: SplitData
    leaf: LeafModel
    prior: LeafPrior
    tau2_random: bool = False
    s2_rates: tuple[float, float] | None = None  # l1, l2
    tau2_rates: tuple[float, float] | None = None  # l3, l4

    def __post_init__(self):
        assert (self.split.F is not None) == (self.leaf.coef == "flat"), "split.F is for the flat prior only"
        assert not (self.tau2_random and self.leaf.coef == "flat"), "the flat prior has no tau2"
        assert self.tau2_random or self.leaf.coef != "hierarchical", "hierarchical: tau2 is random"
        assert self.tau2_random or self.tau2_rates is None, "(a_t, g_t) belong to a random tau2"


@dataclass(frozen=True, eq=False)
class State:
    tree: tuple | None
    params: tuple[LeafParams, ...]  # left to right
    hyper: Hyper


def log_ig(value, a, g):
    """log IG(value; a/2, g/2)."""
    return float(invgamma.logpdf(value, a / 2, scale=g / 2))


def log_hyper(a, g, rates):
    """a ~ Exp(l) on (2, inf), g ~ Exp(l'); 0 if fixed."""
    if rates is None:
        return 0.0
    if a <= 2 or g <= 0:
        return -inf
    return log(rates[0]) - rates[0] * (a - 2) + log(rates[1]) - rates[1] * g


def wishart_prior(m):
    """W^-1 ~ Wish((rho V0)^-1, rho), V0 = 2 I, rho = m + 1."""
    rho = m + 1
    return wishart(df=rho, scale=np.eye(m) / (2 * rho))


def log_marginals(model, state):
    """M of each leaf, left to right."""
    rows = [list(r) for r in leaf_rows(model.split, state.tree)]
    return [log_M(model.leaf, state.hyper, model.x[r], model.y[r], p) for r, p in zip(rows, state.params, strict=True)]


def log_terms(model, state):
    """Every term by name. -inf in structure or rules: not a tree of this prior."""
    hyper, params = state.hyper, state.params
    structure, rules = log_structure(model.split, state.tree), log_rules(model.split, state.tree)
    hierarchical = model.leaf.coef == "hierarchical"
    m = len(hyper.beta0)
    return {
        "likelihood": sum(log_marginals(model, state)) if structure + rules > -inf else -inf,
        "structure": structure,
        "rules": rules,
        "d": sum(log_p_d(model.prior, p) for p in params),
        "b": sum(log_p_b(model.prior, p) for p in params),
        "g": sum(log_p_g(model.prior, p) for p in params),
        "tau2": sum(log_ig(p.tau2, hyper.a_t, hyper.g_t) for p in params) if model.tau2_random else 0.0,
        "beta0": float(multivariate_normal.logpdf(hyper.beta0, np.zeros(m))) if hierarchical else 0.0,
        "W_inv": float(wishart_prior(m).logpdf(hyper.W_inv)) if hierarchical else 0.0,
        "s2_hyper": log_hyper(hyper.a_s, hyper.g_s, model.s2_rates),
        "tau2_hyper": log_hyper(hyper.a_t, hyper.g_t, model.tau2_rates),
    }


def log_target(model, state):
    return sum(log_terms(model, state).values())
