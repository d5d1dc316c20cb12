"""Prior of one leaf's parameters (d, b, g).

A positive scalar has a mixture of components ('gamma', weight, shape, rate) or ('atom', weight, value). Ranges are
independent, or d_i = s / r_i with one s from their mixture and r_i ~ G(k, k).
"""

from dataclasses import dataclass
from itertools import product
from math import inf, log

import numpy as np
from scipy.special import expit, gammaln
from scipy.stats import gamma, norm

from .leaf import LeafParams


@dataclass(frozen=True)
class LeafPrior:
    """limiting = (gamma, theta1, theta2), or None where GP is forced. n_range = 0, 1 or q."""

    n_range: int
    d: tuple[tuple, ...]
    g: tuple[tuple, ...]
    limiting: tuple[float, float, float] | None = None
    alike: float | None = None  # k; None where ranges are independent


def log_mixture(components, value):
    """Log density, or log weight of the atom equal to value. A fixed parameter (one atom) gives 0."""

    def log_component(kind, *where):
        if kind == "atom":
            return 0.0 if value == where[0] else -inf
        return gamma.logpdf(value, where[0], scale=1 / where[1])

    logs = [log(weight) + log_component(kind, *where) for kind, weight, *where in components]
    return float(np.logaddexp.reduce(logs))


def p_linear(limiting, d):
    """p(b = 0 | d) = theta1 + theta2 / (1 + exp(-gamma (d - 1/2)))."""
    if limiting is None:
        return 0.0
    gamma_, theta1, theta2 = limiting
    return theta1 + theta2 * expit(gamma_ * (d - 0.5))


def p_b(limiting, d, b):
    return p_linear(limiting, d) if b == 0 else 1 - p_linear(limiting, d)


def log_ranges(prior, d):
    """Joint log density of ranges of one leaf, which may be some of its ranges only."""
    if prior.alike is None:
        return sum(log_mixture(prior.d, d_i) for d_i in d)
    n, k, inverse = len(d), prior.alike, 1 / np.array(d)

    def log_component(_, w, a, b):
        # G(s; a, b) times prod_i G(r_i; k, k) is, as a function of s, a gamma of this shape and rate.
        shape, rate = a + n * k, b + k * inverse.sum()
        constant = a * log(b) - gammaln(a) + n * (k * log(k) - gammaln(k))
        return log(w) + constant + gammaln(shape) - shape * log(rate) + (k + 1) * np.log(inverse).sum()

    return float(np.logaddexp.reduce([log_component(*component) for component in prior.d]))


def log_range_given(prior, d, i):
    """Log density of range i, given the other ranges of its leaf."""
    return log_ranges(prior, d) - log_ranges(prior, (*d[:i], *d[i + 1 :]))


def log_p_d(prior, p):
    return log_ranges(prior, p.d)


def log_p_b(prior, p):
    probabilities = [p_b(prior.limiting, d, b) for d, b in zip(p.d, p.b, strict=True)]
    return sum(log(q) if q > 0 else -inf for q in probabilities)


def log_p_g(prior, p):
    return log_mixture(prior.g, p.g)


def p_fresh(prior, p):
    """Prior probability of (d, b, g) where d and g have atoms."""
    return float(np.exp(log_p_d(prior, p) + log_p_b(prior, p) + log_p_g(prior, p)))


def log_sibling(prior, log_p, kept, fresh, scalars):
    """Log density of the vector that grow proposes for the sibling of a leaf: half the prior's, `log_p`, half near what
    the leaf has kept. `scalars` are the parameters besides d and g that are in it.
    """
    if prior.n_range == 0 or prior.d[0][0] == "atom":
        return log_p
    pairs = list(zip(fresh.d, kept.d, strict=True)) + [(getattr(fresh, s), getattr(kept, s)) for s in scalars]
    near = 0.0
    if prior.g[0][0] == "atom":
        near += log_p_g(prior, fresh)
    else:
        pairs.append((fresh.g, kept.g))
    near += sum(norm.logpdf(log(value / old), scale=0.7) - log(value) for value, old in pairs)
    for d, b, old in zip(fresh.d, fresh.b, kept.b, strict=True):
        near += log(0.8 * (b == old) + 0.2 * p_b(prior.limiting, d, b))
    return log(0.5) + np.logaddexp(log_p, near)


def support(prior, tau2):
    """Every LeafParams of positive prior probability where d and g have atoms; tau2 is the fixed one."""
    d_values, g_values = [sorted({value for _, _, value in atoms}) for atoms in (prior.d, prior.g)]
    candidates = (
        LeafParams(d, b, g, tau2)
        for d in product(d_values, repeat=prior.n_range)
        for b in product((0, 1), repeat=prior.n_range)
        for g in g_values
    )
    return [p for p in candidates if p_fresh(prior, p) > 0]


def draw_mixture(components, rng):
    weights = np.array([c[1] for c in components])
    component = components[rng.choice(len(components), p=weights / weights.sum())]
    return component[2] if component[0] == "atom" else rng.gamma(component[2], 1 / component[3])


def draw_ranges(prior, rng):
    if prior.alike is None:
        return tuple(draw_mixture(prior.d, rng) for _ in range(prior.n_range))
    s, k = draw_mixture(prior.d, rng), prior.alike
    return tuple((s / rng.gamma(k, 1 / k, size=prior.n_range)).tolist())
