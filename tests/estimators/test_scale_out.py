"""Chains on other workers give the same draws."""

import joblib
import numpy as np
import pytest
from sklearn.model_selection import cross_val_score

from treedgp import TreedGPRegressor

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")


def data():
    rng = np.random.default_rng(2)
    X = rng.random((50, 2))
    return X, np.sin(6 * X[:, 0]) + (X[:, 1] > 0.5)


def model():
    return TreedGPRegressor(draws=20, tune=40, chains=2, random_state=7)


def assert_same_draws(a, b):
    for name, values in a.posterior_.draws.arrays.items():
        np.testing.assert_array_equal(values, b.posterior_.draws.arrays[name], err_msg=name)


def test_processes():
    here = model().fit(*data())
    with joblib.parallel_config("loky", n_jobs=2):
        there = model().fit(*data())
    assert_same_draws(here, there)


def test_dask():
    distributed = pytest.importorskip("distributed", reason="the extra treedgp[dask] is not installed")
    X, y = data()
    here = model().fit(X, y)
    scores = cross_val_score(model(), X, y, cv=2)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster), joblib.parallel_config("dask"):
        there = model().fit(X, y)
        prediction = there.predict(X)
        np.testing.assert_array_equal(scores, cross_val_score(model(), X, y, cv=2))
    assert_same_draws(here, there)
    np.testing.assert_array_equal(prediction, here.predict(X))
