"""The generator: known answers, and laws of what it makes. Seeds are fixed, so each test gives one answer."""

import numpy as np
import pytest
from scipy.stats import chisquare, gamma, kstest, norm, uniform

from treedgp import _testing

N = 200_000
SIGNIFICANCE = 1e-4  # a right generator fails with this probability, once, when a seed is chosen
FOUR_SIGMA = 4.0


def hexes(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(
    ("counter", "key", "block"),
    [
        ("0 0 0 0", "0 0", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        (" ".join(["ffffffff"] * 4), "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            "243f6a88 85a308d3 13198a2e 03707344",
            "a4093822 299f31d0",
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
    ids=["zeros", "ones", "digits of pi"],
)
def test_philox_known_answers(counter, key, block):
    """The vectors published with Random123."""
    assert _testing.philox(hexes(counter), hexes(key)) == hexes(block)


LAWS = [
    ("uniform", 0.0, uniform()),
    ("normal", 0.0, norm()),
    *(("gamma", shape, gamma(shape)) for shape in (0.3, 1.0, 2.5, 40.0)),
]


@pytest.mark.parametrize(("kind", "parameter", "law"), LAWS, ids=[f"{kind} {p:g}" for kind, p, _ in LAWS])
def test_law(kind, parameter, law):
    draws = _testing.random_numbers(kind, parameter, seed=1, n=N)
    assert kstest(draws, law.cdf).pvalue > SIGNIFICANCE
    mean, variance, kurtosis = (float(value) for value in law.stats("mvk"))
    assert abs(draws.mean() - mean) < FOUR_SIGMA * np.sqrt(variance / N)
    assert abs(draws.var() - variance) < FOUR_SIGMA * variance * np.sqrt((kurtosis + 2) / N)


def test_normals_in_layers_wedges_and_tail():
    """Fine cells, some beyond the base of the ziggurat at 3.44: a wrong wedge or tail moves a few of them."""
    draws = _testing.random_numbers("normal", 0.0, seed=8, n=10_000_000)
    edges = np.concatenate([[-np.inf], np.linspace(-4.5, 4.5, 361), [np.inf]])
    counts = np.histogram(draws, bins=edges)[0]
    assert chisquare(counts, len(draws) * np.diff(norm.cdf(edges))).pvalue > SIGNIFICANCE


@pytest.mark.parametrize(("kind", "parameter"), [("uniform", 0.0), ("normal", 0.0), ("gamma", 2.5)])
def test_neighbouring_draws_are_independent(kind, parameter):
    draws = _testing.random_numbers(kind, parameter, seed=2, n=N)
    for lag in (1, 2, 3):
        correlation = np.corrcoef(draws[:-lag], draws[lag:])[0, 1]
        assert abs(correlation) < FOUR_SIGMA / np.sqrt(N)


def test_uniform_lies_strictly_inside_the_unit_interval():
    draws = _testing.random_numbers("uniform", 0.0, seed=3, n=1_000_000)
    assert 0 < draws.min() < 1e-4
    assert 1 - 1e-4 < draws.max() < 1


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000])
def test_pick_is_uniform(n):
    picks = _testing.random_numbers("pick", float(n), seed=4, n=N)
    counts = np.bincount(picks.astype(int), minlength=n)
    assert len(counts) == n
    assert np.array_equal(picks, np.floor(picks))
    assert n == 1 or chisquare(counts).pvalue > SIGNIFICANCE


def test_pick_of_a_large_range_has_no_bias():
    """Without rejection 8 words would go to every 3 values, 3 to two of them and 2 to the third."""
    picks = _testing.random_numbers("pick", float(3 * 2**29), seed=5, n=N)
    assert chisquare(np.bincount(picks.astype(int) % 3)).pvalue > SIGNIFICANCE
    assert chisquare(np.histogram(picks, bins=6, range=(0, 3 * 2**29))[0]).pvalue > SIGNIFICANCE


def test_a_seed_gives_one_sequence_and_seeds_give_different_ones():
    def draws(seed):
        return _testing.random_numbers("normal", 0.0, seed=seed, n=1000)

    assert np.array_equal(draws(6), draws(6))
    assert np.array_equal(draws(6), _testing.random_numbers("normal", 0.0, seed=6, n=2000)[:1000])
    assert not np.isin(draws(6), draws(7)).any()
    assert not np.isin(draws(6), draws(6 + 2**32)).any(), "both halves of the seed count"
