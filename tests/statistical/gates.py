"""What the statistical tests share: seeds, comparisons as p-values, and the gate that decides.

A gate holds all its comparisons to a total false-fail rate of `LEVEL` by Bonferroni's inequality: it passes if
the smallest of k p-values is at least LEVEL / k. A gate that does not pass is repeated once with four times the
work and a fresh seed, and only that decides; nothing else is ever rerun. So a correct sampler fails a gate with
probability about LEVEL^2 = 1e-6, and the power is that of the longer run. P-values from chains rest on estimated
Monte Carlo errors; with effective sizes above 500 these are good to a few percent.
"""

import zlib
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import chi2, chisquare, kstest, norm

from treedgp.posterior.diagnostics import ess_bulk, mcse_mean

LEVEL = 1e-3
MIN_ESS = 300
"""Fewest effective draws for which a comparison in Monte Carlo standard errors means something."""


@dataclass(frozen=True)
class Comparison:
    name: str
    p_value: float
    detail: str = ""


def seed_of(name, attempt=0):
    """A seed that depends on the test's name and the attempt alone."""
    return zlib.crc32(f"{name}#{attempt}".encode())


def rejected(comparisons, level=LEVEL):
    """The comparisons that Bonferroni's inequality does not let pass, the worst first."""
    bound = level / len(comparisons)
    failures = [c for c in comparisons if not c.p_value >= bound]  # nan fails
    return sorted(failures, key=lambda c: c.p_value)


def report(failures, total):
    lines = [f"{c.name}: p = {c.p_value:.2g} {c.detail}" for c in failures[:12]]
    return f"{len(failures)} of {total} comparisons failed\n" + "\n".join(lines)


def assert_gate(attempt, name):
    """attempt(seed, scale) -> comparisons. One sequential retry at scale 4, no other reruns."""
    if not rejected(attempt(seed_of(name), 1)):
        return
    comparisons = attempt(seed_of(name, 1), 4)
    failures = rejected(comparisons)
    assert not failures, report(failures, len(comparisons))


# ---- a chain against independent draws


def ranks_in(reference, values):
    """Share of the reference below each value, ties counted half: bounded, and uniform for equal laws."""
    ordered = np.sort(reference)
    below, up_to = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    return (below + up_to) / 2 / len(ordered)


def compare_means(name, chains, direct):
    """Means of a bounded function of a stationary chain (chain, draw) and of independent draws."""
    draws = chains.size
    mcse = max(mcse_mean(chains), np.std(chains) / np.sqrt(draws))  # no credit for antithetic chains
    se = np.hypot(mcse, np.std(direct) / np.sqrt(len(direct)))
    z = (chains.mean() - direct.mean()) / se
    effective = np.var(chains) / mcse**2
    if not effective >= MIN_ESS:
        return Comparison(name, 0.0, f"only {effective:.0f} effective draws")
    return Comparison(name, 2 * norm.sf(abs(z)), f"z = {z:.2f}, ESS {effective:.0f}")


def compare_with_direct(chain, direct, shape):
    """Location and spread of the ranks of every statistic, and the mean product of every pair.

    `chain` and `direct` are {name: values}; the chain's values are `shape` = (chain, draw) flattened. A
    statistic that is constant under direct simulation must be the same constant in the chain.
    """
    scores, comparisons = {}, []
    for name, reference in direct.items():
        if (reference == reference[0]).all():
            comparisons.append(Comparison(f"{name} is constant", float((chain[name] == reference[0]).all())))
            continue
        scores[name] = [2 * ranks_in(reference, v) - 1 for v in (chain[name].reshape(shape), reference)]
    for name, (u, v) in scores.items():
        comparisons.append(compare_means(name, u, v))
        if len(np.unique(np.abs(v))) > 1:
            comparisons.append(compare_means(f"spread of {name}", u**2, v**2))
    for (one, (u1, v1)), (other, (u2, v2)) in combinations(scores.items(), 2):
        comparisons.append(compare_means(f"{one} x {other}", u1 * u2, v1 * v2))
    return comparisons


# ---- uniformity


def thin_by_ess(values):
    """Every k-th draw of one chain, k twice its autocorrelation time: about independent."""
    step = int(np.ceil(2 * len(values) / min(ess_bulk(values[None]), len(values))))
    return values[step - 1 :: step]


def ks_uniform(name, values):
    """Kolmogorov-Smirnov test of independent values that are uniform on (0, 1)."""
    result = kstest(values, "uniform")
    return Comparison(f"{name} is uniform (KS)", result.pvalue, f"D = {result.statistic:.3f}, n = {len(values)}")


def chi2_uniform(name, values, bins):
    """Chi-square test of the same in equal bins, of which each must expect at least 5 values."""
    assert len(values) >= 5 * bins, "too few values for so many bins"
    counts = np.histogram(values, bins, range=(0, 1))[0]
    return Comparison(f"{name} is uniform (chi-square)", chisquare(counts).pvalue, f"counts {counts.tolist()}")


def chi2_counts(name, observed, expected):
    """Chi-square test of counts against independent counts of the same categories; rare ones are pooled."""
    observed, expected = np.asarray(observed, dtype=float), np.asarray(expected, dtype=float)
    rare = np.minimum(observed, expected) < 10
    columns = [np.append(c[~rare], c[rare].sum()) for c in (observed, expected)]
    a, b = (c[(columns[0] + columns[1]) > 0] for c in columns)
    total_a, total_b = a.sum(), b.sum()
    statistic = ((a * np.sqrt(total_b / total_a) - b * np.sqrt(total_a / total_b)) ** 2 / (a + b)).sum()
    return Comparison(f"{name} (chi-square)", chi2.sf(statistic, len(a) - 1), f"{a.tolist()} vs {b.tolist()}")


def random_rank(truth, draws, rng):
    """Rank of the truth among the draws, ties broken at random, as a number uniform on (0, 1)."""
    below, equal = np.sum(draws < truth), np.sum(draws == truth)
    return (below + rng.integers(equal + 1) + rng.random()) / (len(draws) + 1)
