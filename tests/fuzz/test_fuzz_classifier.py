"""Random data, labels and settings: right probabilities or a typed error, never anything else."""

import warnings

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.test_fuzz_regressor import frames
from treedgp import TreedGPClassifier, TreedGPError

LABELS = st.one_of(
    st.sampled_from(["a", "b", "", "c"]),
    st.integers(-2, 2),
    st.booleans(),
    st.sampled_from([None, np.nan, 1.5, 2.0, pd.NA, np.inf, 2**70]),
)
KINDS = st.sampled_from(["text", "integers", "booleans", "anything"])
SETTINGS = st.fixed_dictionaries(
    {
        "leaf": st.sampled_from(["gp", "gp", "constant", "linear"]),
        "tree": st.booleans(),
        "tree_sharing": st.sampled_from(["per_class", "shared"]),
        "latent_sampler": st.sampled_from(["polya_gamma", "metropolis"]),
        "latent_block_size": st.sampled_from([1, 3, 100]),
        "kernel": st.sampled_from(["gaussian", "matern12", "matern52"]),
        "isotropic": st.booleans(),
        "input_scaling": st.sampled_from(["minmax", "quantile"]),
        "split_features": st.sampled_from([None, "categorical", [0], []]),
        "leaf_features": st.sampled_from([None, [0], ["c0", "c1"], []]),
        "chains": st.sampled_from([1, 2]),
    }
)


@st.composite
def labelled(draw):
    X, _ = draw(frames())
    kind = draw(KINDS)
    pick = {
        "text": st.sampled_from(["a", "b", "", "c"]),
        "integers": st.integers(-2, 2),
        "booleans": st.booleans(),
        "anything": LABELS,
    }[kind]
    y = draw(st.lists(pick, min_size=len(X), max_size=len(X)))
    return X, draw(st.sampled_from([list, lambda v: np.array(v, object), lambda v: pd.Series(v, dtype=object)]))(y)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(labelled(), SETTINGS)
def test_fit_and_predict(data, arguments):
    X, y = data
    model = TreedGPClassifier(draws=4, tune=4, random_state=0, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except TreedGPError:
            return
        shares, votes = model.predict_proba(X), model.vote_proba(X)
        prediction = model.predict(X)
    for table in (shares, votes):
        assert table.shape == (len(X), len(model.classes_))
        assert np.abs(table.sum(axis=1) - 1).max() < 1e-9
        assert ((table >= 0) & (table <= 1)).all()
    assert set(model.classes_.tolist()) == set(y)
    assert prediction.tolist() == model.classes_[shares.argmax(axis=1)].tolist()
    assert np.isfinite(model.posterior_.log_posterior).all()
    if model.leaf == "gp":
        mean, variance = model.latent_mean_and_variance(X)
        assert np.isfinite(mean).all()
        assert (variance >= 0).all()
    for label in model.classes_[:-1]:
        assert all(str(tree) for tree in model.posterior_.map_trees(target=label).values())
