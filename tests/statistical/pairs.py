"""Chains against a known number, and against each other: differences in Monte Carlo standard errors, as p-values for a
gate. With some ten comparisons a gate's bound is |z| < 3.9 or so.
"""

import numpy as np
from scipy.stats import norm

from statistical.gates import Comparison
from treedgp.posterior.diagnostics import mcse_mean


def mean_and_error(chains):
    """Mean of (chain, draw), its Monte Carlo standard error, and the effective number of draws."""
    chains = np.atleast_2d(np.asarray(chains, dtype=float))
    sd = np.std(chains)
    if sd == 0:
        return chains.mean(), 0.0, 0.0
    error = max(mcse_mean(chains), sd / np.sqrt(chains.size))  # no credit for antithetic chains
    return chains.mean(), error, sd**2 / error**2


def _compare(name, difference, error, effective, min_ess):
    if not effective >= min_ess:
        return Comparison(name, 0.0, f"only {effective:.0f} effective draws")
    z = difference / error
    return Comparison(name, 2 * norm.sf(abs(z)), f"z = {z:.2f}, ESS {effective:.0f}")


def compare_with_value(name, chains, value, min_ess=300):
    mean, error, effective = mean_and_error(chains)
    return _compare(name, mean - value, error, effective, min_ess)


def compare_chains(name, one, other, min_ess=300):
    """Means of two independent sets of chains; both constant and equal is agreement."""
    (mean1, error1, ess1), (mean2, error2, ess2) = mean_and_error(one), mean_and_error(other)
    if error1 == error2 == 0:
        return Comparison(f"{name} is constant", float(mean1 == mean2))
    return _compare(name, mean1 - mean2, np.hypot(error1, error2), min(ess1, ess2), min_ess)
