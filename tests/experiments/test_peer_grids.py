"""The peers' grids are the paper's, in scikit-learn's units."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from treedgp.experiments import peers

X, Y = make_classification(120, 4, class_sep=1.5, random_state=0)


def test_cp_is_relative_to_the_roots_risk():
    y = np.array([0] * 30 + [1] * 70)
    grid = peers.rpart_like(y, 5, 0).param_grid["ccp_alpha"]
    assert grid == pytest.approx([cp * 0.42 for cp in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)])


def test_cp_of_one_would_leave_the_root_alone_and_the_grids_largest_prunes_more_than_its_least():
    search = peers.rpart_like(Y, 3, 0)
    alphas = search.param_grid["ccp_alpha"]
    leaves = [DecisionTreeClassifier(ccp_alpha=a, random_state=0).fit(X, Y).get_n_leaves() for a in alphas]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[0] > leaves[-1]
    assert DecisionTreeClassifier(ccp_alpha=alphas[-1] * 2, random_state=0).fit(X, Y).get_n_leaves() == 1


def test_size_and_decay():
    grid = peers.nnet_like(5, 0).param_grid
    assert grid["hidden_layer_sizes"] == [(2,), (5,), (10,)]
    assert grid["alpha"] == pytest.approx([2e-3, 2 * 10**-1.5, 2.0])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("make", [lambda: peers.rpart_like(Y, 3, 0), lambda: peers.nnet_like(3, 0)])
def test_tuned_on_the_training_part_alone(make):
    model = make().fit(X, Y)
    assert model.n_splits_ == 3
    assert all(model.best_params_[name] in values for name, values in model.param_grid.items())
    assert np.mean(model.predict(X) == Y) > 0.8
