"""Designs against their definitions, on problems small enough to enumerate."""

import itertools
import time
import warnings

import numpy as np
import pytest

from treedgp.design import entropy, latin_hypercube, maximum_entropy
from treedgp.errors import ConfigError, DataError


def log_det(points, lengthscale, chosen):
    unit = (points - points.min(axis=0)) / np.ptp(points, axis=0) / lengthscale
    square = ((unit[chosen][:, None] - unit[chosen]) ** 2).sum(axis=2)
    return np.linalg.slogdet(np.exp(-square) + entropy.JITTER * np.eye(len(chosen)))[1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [2, 3, 4])
def test_tiny_designs_are_those_of_brute_force(seed, n):
    points = np.random.default_rng(seed).uniform(size=(9, 2)) * [1, 50]
    best = max(log_det(points, 0.4, list(c)) for c in itertools.combinations(range(9), n))
    found = log_det(points, 0.4, maximum_entropy(n, points, lengthscale=0.4, random_state=seed))
    # Single exchanges may end in a local optimum, though not in one that is much worse.
    assert best - 0.1 < found < best + 1e-9


def test_most_tiny_designs_are_optimal():
    optimal = 0
    for seed in range(20):
        points = np.random.default_rng(seed).uniform(size=(8, 2))
        best = max(log_det(points, 0.5, list(c)) for c in itertools.combinations(range(8), 3))
        optimal += log_det(points, 0.5, maximum_entropy(3, points, lengthscale=0.5, random_state=0)) > best - 1e-9
    assert optimal >= 15


def test_each_greedy_point_is_the_best_next_one():
    points = np.random.default_rng(3).uniform(size=(40, 2))
    points[0], points[1] = 0, 1  # the box is the unit box
    chosen = list(entropy._greedy(points / 0.3, 8))
    for k in range(2, 9):
        values = [log_det(points, 0.3, [*chosen[: k - 1], j]) for j in range(40) if j not in chosen[: k - 1]]
        assert log_det(points, 0.3, chosen[:k]) == pytest.approx(max(values), abs=1e-9)


def test_an_exchange_grows_the_log_determinant_by_what_it_says():
    points = np.random.default_rng(1).uniform(size=(60, 3))
    points[0], points[1] = 0, 1
    chosen = np.arange(10)
    given = entropy._Conditional.of(points / 0.5, chosen)
    growths = []
    for _ in range(20):
        before = log_det(points, 0.5, chosen)
        growth, place, candidate = given.best_exchange(chosen)
        if growth < entropy.SMALLEST_GAIN:
            break
        given.drop(place)
        given.add(place, candidate, points / 0.5, chosen)
        chosen[place] = candidate
        assert log_det(points, 0.5, chosen) - before == pytest.approx(growth, abs=1e-7)
        growths.append(growth)
    assert len(growths) >= 5
    assert min(growths) > 0


@pytest.mark.parametrize("seed", range(5))
def test_exchanges_never_lower_the_log_determinant_of_the_greedy_design(seed):
    points = np.random.default_rng(seed).uniform(size=(200, 2))
    points[0], points[1] = 0, 1
    greedy = entropy._greedy(points / 0.3, 15)
    exchanged = entropy._exchanged(points / 0.3, greedy)
    assert log_det(points, 0.3, exchanged) >= log_det(points, 0.3, greedy)
    assert len(set(exchanged)) == 15


@pytest.mark.parametrize("twins", [False, True])
def test_all_candidates_are_chosen_if_all_are_wanted(twins):
    points = np.random.default_rng(0).uniform(size=(30, 2))
    if twins:
        points[15:] = points[:15]
    assert sorted(maximum_entropy(30, points, random_state=0)) == list(range(30))


def test_candidates_that_are_all_alike_are_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(set(maximum_entropy(5, np.zeros((10, 2)), random_state=0))) == 5


def test_twins_are_taken_last():
    distinct = np.random.default_rng(0).uniform(size=(20, 2))
    chosen = maximum_entropy(20, np.vstack([distinct, distinct]), random_state=0)
    assert sorted(chosen % 20) == list(range(20))


def test_the_seed_decides_and_units_do_not_matter():
    points = np.random.default_rng(0).uniform(size=(100, 2))
    first = maximum_entropy(10, points, random_state=4)
    assert np.array_equal(first, maximum_entropy(10, points, random_state=4))
    assert np.array_equal(first, maximum_entropy(10, points * [1024, 0.5] + 4, random_state=4))
    assert not np.array_equal(first, maximum_entropy(10, points, random_state=5))


def test_a_constant_column_changes_nothing():
    points = np.random.default_rng(0).uniform(size=(50, 1))
    plain = maximum_entropy(7, points, lengthscale=0.2, random_state=0)
    assert np.array_equal(plain, maximum_entropy(7, np.hstack([points, 0 * points]), lengthscale=0.2, random_state=0))


def test_a_large_design_takes_seconds():
    points = np.random.default_rng(0).uniform(size=(10_000, 3))
    began = time.process_time()
    chosen = maximum_entropy(400, points, random_state=0)
    assert len(set(chosen)) == 400
    assert time.process_time() - began < 60  # about 8 on two slow cores


@pytest.mark.parametrize("n", [1, 2, 7, 50])
def test_one_point_of_a_latin_hypercube_in_each_slice(n):
    bounds = [(0, 1), (-2, 6), (1e6, 1e6 + 1)]
    points = latin_hypercube(n, bounds, random_state=n)
    assert points.shape == (n, 3)
    for column, (low, high) in zip(points.T, bounds, strict=True):
        slices = np.floor((column - low) / (high - low) * n).astype(int)
        assert sorted(slices) == list(range(n))


def test_columns_of_a_latin_hypercube_are_shuffled_apart():
    points = latin_hypercube(200, [(0, 1)] * 3, random_state=0)
    assert np.abs(np.corrcoef(points.T)[np.triu_indices(3, 1)]).max() < 0.3
    assert np.array_equal(points, latin_hypercube(200, [(0, 1)] * 3, random_state=0))


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda: maximum_entropy(0, [[0.0]]), ConfigError, "n must be.*got 0"),
        (lambda: maximum_entropy(2, [[0.0]]), ConfigError, "from 1 to 1.*got 2"),
        (lambda: maximum_entropy(1.5, [[0.0]]), ConfigError, "got 1.5"),
        (lambda: maximum_entropy(1, [0.0, 1.0]), DataError, r"shape \(2,\)"),
        (lambda: maximum_entropy(1, [["red"]]), DataError, "must be numbers"),
        (lambda: maximum_entropy(1, [[np.nan], [1.0]]), DataError, "missing"),
        (lambda: maximum_entropy(1, [[0.0]], lengthscale=0), ConfigError, "positive.*got 0"),
        (lambda: maximum_entropy(1, [[0.0]], lengthscale="short"), ConfigError, "got 'short'"),
        (lambda: maximum_entropy(1, [[0.0]], random_state="seed"), ConfigError, "random_state.*got 'seed'"),
        (lambda: latin_hypercube(-1, [(0, 1)]), ConfigError, "got -1"),
        (lambda: latin_hypercube(3, [(1, 0)]), DataError, "lower < upper"),
        (lambda: latin_hypercube(3, (0, 1)), DataError, "for each column"),
        (lambda: latin_hypercube(3, [("a", "b")]), DataError, "for each column"),
        (lambda: latin_hypercube(3, [(0, 1)], random_state=-1), ConfigError, "random_state.*got -1"),
    ],
)
def test_a_wrong_request_is_told_what_was_expected(ask, error, words):
    with pytest.raises(error, match=words):
        ask()
