"""Memory is bounded by blocks, not by draws times rows."""

import tracemalloc

import numpy as np
import pytest

from treedgp import TreedGPRegressor
from treedgp.posterior import predict

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.random((40, 1))
    return TreedGPRegressor(draws=200, tune=50, chains=1, random_state=0).fit(X, np.sin(6 * X[:, 0]))


def peak_of(action, X):
    tracemalloc.start()
    action(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_predictions_of_many_rows_hold_one_block_at_a_time(fitted, monkeypatch):
    monkeypatch.setattr(predict, "BLOCK_ENTRIES", 256 * len(fitted.posterior_.draws))
    few, many = np.linspace(0, 1, 512)[:, None], np.linspace(0, 1, 8192)[:, None]
    for action in (fitted.predict, fitted.predict_interval):
        small, large = peak_of(action, few), peak_of(action, many)
        assert large < small + 40 * len(many) * 8  # a few vectors of the rows themselves


def test_kept_draws_are_small():
    rng = np.random.default_rng(0)
    X = rng.random((500, 10))
    model = TreedGPRegressor(draws=50, tune=20, chains=1, random_state=0).fit(X, X[:, 0] + np.sin(9 * X[:, 1]))
    arrays = model.posterior_.draws.arrays.values()
    assert sum(a.nbytes for a in arrays) / len(model.posterior_.draws) * 4000 < 100e6
