"""PG(1, c) draws of the core: closed-form mean and variance, the law of an independent sampler, and the inverse
Gaussian law that 4 PG(1, c) has for large c, but for a share of exp(-c).

The laws are held by p-values: false-fail rate of each gate, see statistical/gates.py.
"""

import numpy as np
import pytest
from scipy.stats import invgauss, ks_2samp, kstest, kurtosis, norm

from statistical.gates import Comparison, assert_gate, seed_of
from treedgp import _testing

TILTS = (0.0, 1e-8, 1e-3, 0.1, 0.5, 1.0, 2.0, 3.0, 3.125, 4.0, 7.0, 15.0, 30.0, 60.0, 100.0, 300.0, 500.0, 1e4)
HUGE = (1e5, 1e6, 1e8)  # where only the closed forms reach


def draws(c, seed, n):
    return _testing.random_numbers("polya_gamma", c, seed, n)


def mean_of(c):
    """tanh(c/2) / (2 c)."""
    return 0.25 if c < 1e-4 else np.tanh(c / 2) / (2 * c)


def variance_of(c):
    """(sinh c - c) / (4 c^3 cosh^2(c/2)), in terms of exp(-c) since sinh overflows; 1/24 at 0."""
    if c < 1e-2:
        return 1 / 24 - c**2 / 120
    e = np.exp(-c)
    return (1 - e**2 - 2 * c * e) / (2 * c**3 * (1 + e) ** 2)


def moment_comparisons(c, seed, n):
    x = draws(c, seed, n)
    z_mean = (x.mean() - mean_of(c)) / np.sqrt(variance_of(c) / n)
    z_variance = (x.var() / variance_of(c) - 1) / np.sqrt((kurtosis(x) + 2) / n)
    scores = {"mean": z_mean, "variance": z_variance}
    return [Comparison(f"{what} at c = {c:g}", 2 * norm.sf(abs(z)), f"z = {z:.2f}") for what, z in scores.items()]


def law_comparison(c, seed, n):
    polyagamma = pytest.importorskip("polyagamma", reason="the independent sampler is not installed")
    rng = np.random.default_rng(seed)
    # Its method "devroye" (release 2.0.2) misses the closed-form mean from c = 200 on; "alternate" does not.
    independent = polyagamma.random_polyagamma(1, c, size=n, method="alternate", random_state=rng)
    return Comparison(f"law at c = {c:g}", ks_2samp(draws(c, seed, n), independent, method="asymp").pvalue)


def inverse_gaussian_comparison(c, seed, n):
    return Comparison(f"law at c = {c:g}", kstest(4 * draws(c, seed, n), invgauss(2 / c).cdf).pvalue)


def all_moments(seed, n):
    return [p for i, c in enumerate((*TILTS, *HUGE)) for p in moment_comparisons(c, seed + i, n)]


def all_laws(seed, n):
    return [law_comparison(c, seed + i, n) for i, c in enumerate(TILTS)]


def all_large(seed, n):
    return [inverse_gaussian_comparison(c, seed + i, n) for i, c in enumerate(c for c in TILTS if c >= 30)]


def test_mean_and_variance_have_their_closed_forms(request):
    assert_gate(lambda seed, scale: all_moments(seed, 20_000 * scale), request.node.name)


def test_draws_have_the_law_of_an_independent_sampler(request):
    assert_gate(lambda seed, scale: all_laws(seed, 20_000 * scale), request.node.name)


def test_large_tilts_have_an_inverse_gaussian_law(request):
    assert_gate(lambda seed, scale: all_large(seed, 20_000 * scale), request.node.name)


@pytest.mark.long
def test_moments_long(request):
    assert_gate(lambda seed, scale: all_moments(seed, 2_000_000 * scale), request.node.name)


@pytest.mark.long
def test_law_long(request):
    assert_gate(lambda seed, scale: all_laws(seed, 1_000_000 * scale), request.node.name)


@pytest.mark.long
def test_large_tilts_long(request):
    assert_gate(lambda seed, scale: all_large(seed, 1_000_000 * scale), request.node.name)


@pytest.mark.parametrize("c", [0.0, 1e-300, 1e-8, 3.124, 3.126, 50.0, 92.0, 94.0, 745.0, 1e4, 1e8, 1e15])
def test_draws_are_positive_and_finite_whatever_the_tilt(c):
    for sign in (1, -1):
        x = draws(sign * c, seed_of(f"positive {c}"), 2000)
        assert (x > 0).all()
        assert np.isfinite(x).all()


@pytest.mark.parametrize("c", [0.3, 5.0, 200.0])
def test_the_sign_of_the_tilt_does_not_matter(c):
    np.testing.assert_array_equal(draws(c, 5, 100), draws(-c, 5, 100))


def test_a_wrong_law_is_seen():
    """PG(1, c) moments against draws of a tilt 10% off."""
    x = draws(2.2, seed_of("wrong"), 20_000)
    assert abs(x.mean() - mean_of(2.0)) > 6 * np.sqrt(variance_of(2.0) / len(x))


@pytest.mark.parametrize("c", [np.nan, np.inf, -np.inf, 1e154, 1e300])
def test_a_tilt_out_of_range_comes_to_an_end(c):
    """A chain whose latents have run away must fail, not hang."""
    assert not (draws(c, 1, 20) > 1e-100).any()
