"""Random data and settings: a finite answer or a typed error, never anything else."""

import warnings

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from treedgp import TreedGPError, TreedGPRegressor

NUMBERS = st.one_of(
    st.floats(-5, 5), st.integers(-3, 3), st.sampled_from([0.0, 1e12, -1e12, 1e-12, np.nan, np.inf, -np.inf])
)
LEVELS = st.sampled_from(["a", "b", "", "1", None, True, 1, 1.5])
COLUMN = st.sampled_from(["numbers", "levels", "constant", "text"])


@st.composite
def frames(draw):
    n = draw(st.integers(1, 14))
    columns = {}
    for i in range(draw(st.integers(1, 4))):
        kind = draw(COLUMN)
        cells = {
            "numbers": lambda: draw(st.lists(NUMBERS, min_size=n, max_size=n)),
            "levels": lambda: pd.Series(draw(st.lists(LEVELS, min_size=n, max_size=n)), dtype=object),
            "constant": lambda: [2.5] * n,
            "text": lambda: pd.Series(draw(st.lists(st.text(max_size=2), min_size=n, max_size=n)), dtype="string"),
        }[kind]()
        columns[f"c{i}"] = cells
    y = draw(st.lists(st.one_of(st.floats(-5, 5), st.just(np.nan)), min_size=n, max_size=n))
    return pd.DataFrame(columns), np.array(y)


SETTINGS = st.fixed_dictionaries(
    {
        "leaf": st.sampled_from(["gp", "linear", "constant", "forest"]),
        "tree": st.booleans(),
        "kernel": st.sampled_from(["gaussian", "matern12", "matern52"]),
        "isotropic": st.booleans(),
        "mean": st.sampled_from(["linear", "constant"]),
        "input_scaling": st.sampled_from(["minmax", "quantile"]),
        "categorical_features": st.sampled_from(["from_dtype", None, [0], ["c0"], ["nowhere"], [99]]),
        "split_features": st.sampled_from([None, "categorical", [0], ["c1"], []]),
        "leaf_features": st.sampled_from([None, [0], ["c0", "c1"], []]),
        "chains": st.sampled_from([1, 2, 0]),
    }
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(frames(), SETTINGS)
def test_fit_and_predict(data, arguments):
    X, y = data
    model = TreedGPRegressor(draws=4, tune=4, random_state=0, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except TreedGPError:
            return
        mean, sd = model.predict(X, return_std=True)
        low, high = model.predict_interval(X, 0.5).T
    assert np.isfinite(mean).all()
    assert np.isfinite(sd).all()
    assert (low <= high).all()
    assert not np.isnan(y).any()
    assert set(model.posterior_.split_frequencies().index) <= set(X.columns)
    for tree in model.posterior_.map_trees().values():
        assert str(tree)
