"""The paper's step data: three classes in three intervals of a line."""

import numpy as np
import pytest

from treedgp import TreedGPClassifier, datasets, preset

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

DATA = datasets.make_step_classes()
X, Y = DATA.X, DATA.y
# The borders: x19 | x20 and x39 | x40.
BORDERS = {0: (X[19, 0], X[20, 0]), 1: (X[39, 0], X[40, 0])}


def is_between(thresholds, label):
    low, high = BORDERS[label]
    return (low < np.asarray(thresholds)) & (np.asarray(thresholds) < high)


def test_default_draws_make_no_training_error():
    """Splits are another matter: latents of the default amplitude bend through the borders within a leaf as well."""
    model = TreedGPClassifier(random_state=0).fit(X, Y)
    assert (model.predict(X) == Y).all()


def test_the_papers_priors_give_the_papers_trees():
    """The MAP tree over all heights has one split, at the border of its class."""
    model = preset("ctgp", random_state=0).fit(X, Y)
    assert (model.predict(X) == Y).all()
    for label in (0, 1):
        best = model.posterior_.map_tree(label)
        assert best.n_leaves == 2
        assert is_between(best.root.threshold, label)
