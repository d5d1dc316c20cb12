"""On data simulated from the model, 90% intervals cover about 90%."""

import numpy as np
import pytest

from oracle import simulate
from oracle.leaf import Hyper, LeafModel
from oracle.priors import LeafPrior
from oracle.rules import SplitData, dense_ranks, leaf_rows
from oracle.target import Model
from treedgp import CoefficientPrior, NoisePrior, Priors, TreedGPRegressor, TreePrior

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning", "ignore::UserWarning")

D_PRIOR = (("gamma", 0.5, 1.0, 20.0), ("gamma", 0.5, 10.0, 10.0))
PRIORS = Priors(
    tree=TreePrior(alpha=0.7, beta=2.0, min_leaf=10),
    noise=NoisePrior(a=5.0, g=1.0, rates=None),
    coefficients=CoefficientPrior(kind="fixed", tau2=1.0),
)


def simulated(seed, n=60, extra=60):
    """Training rows and as many new ones, all from one draw of the model (f at every row is a joint draw)."""
    rng = np.random.default_rng([11, seed])
    x = rng.random((n + extra, 1))
    x[:2] = [[0.0], [1.0]]  # the training box is the unit interval: no scaling
    codes = dense_ranks(x[:, 0])[:, None]
    split = SplitData(codes, ("numeric",), (n + extra,), min_leaf=20, alpha=0.7, beta=2.0)
    prior = LeafPrior(1, D_PRIOR, (("gamma", 1.0, 1.0, 1.0),), None)
    model = Model(x, np.zeros(n + extra), split, LeafModel("gaussian", "linear", "fixed"), prior)
    draw = simulate.draw_all(model, Hyper(np.zeros(2), np.eye(2), 5.0, 1.0), rng)
    f, y = np.empty(n + extra), np.empty(n + extra)
    for i, rows in enumerate(map(list, leaf_rows(split, draw.state.tree))):
        p = draw.state.params[i]
        strict = np.exp(-((x[rows] - x[rows].T) ** 2) / p.d[0]) + 1e-10 * np.eye(len(rows))
        smooth = np.linalg.cholesky(draw.sigma2[i] * strict) @ rng.standard_normal(len(rows))
        f[rows] = draw.beta[i][0] + draw.beta[i][1] * x[rows, 0] + smooth
        y[rows] = f[rows] + np.sqrt(draw.sigma2[i] * p.g) * rng.standard_normal(len(rows))
    return x[:n], y[:n], x[n:], f[n:], y[n:]


def coverage(n_sets):
    of_f, of_y = [], []
    for seed in range(n_sets):
        X, y, X_new, f_new, y_new = simulated(seed)
        model = TreedGPRegressor(
            limiting_linear=False, priors=PRIORS, tune=600, draws=300, thin=2, chains=2, random_state=seed
        ).fit(X, y)
        for of, truth, shares in (("f", f_new, of_f), ("y", y_new, of_y)):
            low, high = model.predict_interval(X_new, 0.9, of=of).T
            shares.append(np.mean((low <= truth) & (truth <= high)))
    return np.mean(of_f), np.mean(of_y)


@pytest.mark.long
def test_coverage_of_forty_data_sets():
    of_f, of_y = coverage(40)
    assert 0.85 <= of_f <= 0.95
    assert 0.85 <= of_y <= 0.95


def test_coverage_of_twelve_data_sets():
    """Rows of a set share their fate: the share of f covered has a standard error of about 0.05 over 12 sets."""
    of_f, of_y = coverage(12)
    assert of_f > 0.75
    assert of_y > 0.8
