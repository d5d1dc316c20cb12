"""Fewer draws, and the distribution function of a new observation."""

import numpy as np
import pytest

from treedgp import TreedGPRegressor, datasets

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")


@pytest.fixture(scope="module")
def fit():
    data = datasets.load_motorcycle()
    return TreedGPRegressor(draws=60, tune=200, chains=2, random_state=0).fit(data.X, data.y), data


def test_taken_draws_predict_as_they_did_among_all(fit):
    predictor = fit[0].posterior_.predictor
    assert len(np.unique(predictor.draws.n_leaves)) > 1
    x = fit[1].X[::20]
    all_draws = predictor.mean_by_draw(x)
    for n in (1, 7, 120, 500):
        chosen = predictor.draws.thinned(n)
        assert np.array_equal(predictor.thinned(n).mean_by_draw(x), all_draws[chosen])
    backwards = predictor.draws.take(np.array([119, 3, 3]))
    assert np.array_equal(backwards.n_leaves[0], predictor.draws.n_leaves.ravel()[[119, 3, 3]])


def test_cdf_is_the_inverse_of_the_quantiles(fit):
    predictor = fit[0].posterior_.predictor
    x = fit[1].X[::20]
    for level in (0.05, 0.5, 0.9):
        at = predictor.quantiles(x, np.array([level]))[:, 0]
        assert predictor.cdf(x, at) == pytest.approx(np.full(len(x), level), abs=1e-8)
