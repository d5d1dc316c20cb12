"""The paper's classifiers by name."""

import re
from pathlib import Path

import numpy as np
import pytest

from treedgp import ConfigError, TreedGPClassifier, datasets, preset
from treedgp.model.priors import CLASS_PRIORS

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

# leaf, tree, tree_sharing
TABLE = {
    "cgp": ("gp", False, "per_class"),
    "ctgp": ("gp", True, "per_class"),
    "otgp": ("gp", True, "shared"),
    "bcart_classifier": ("constant", True, "per_class"),
}
LATENT = ["cgp", "ctgp", "otgp"]
TINY = {"draws": 30, "tune": 60, "thin": 1, "chains": 1, "random_state": 0}


@pytest.mark.parametrize("name", TABLE)
def test_settings(name):
    model = preset(name)
    assert isinstance(model, TreedGPClassifier)
    assert (model.leaf, model.tree, model.tree_sharing) == TABLE[name]
    assert (model.limiting_linear, model.kernel, model.isotropic) == (True, "gaussian", False)
    assert model.latent_sampler == "polya_gamma"
    lengths = (model.tune, model.draws, model.thin, model.chains)
    assert lengths == ((2000, 2500, 2, 4) if name == "bcart_classifier" else (1000, 1000, 1, 4))


@pytest.mark.parametrize("name", LATENT)
def test_priors_are_those_of_the_paper(name):
    priors = preset(name).priors
    assert priors != CLASS_PRIORS
    assert (priors.tree.alpha, priors.tree.beta, priors.tree.min_leaf) == (0.5, 2.0, None)
    assert priors.lengthscale.components() == [(0.5, 1.0, 20.0), (0.5, 10.0, 10.0)]
    assert priors.nugget.components() == [(1.0, 1.0, 1.0)]
    assert (priors.noise.a, priors.noise.g, priors.noise.rates) == (5.0, 10.0, None)
    assert priors.coefficients.kind == "hierarchical"
    assert (priors.limiting.gamma, priors.limiting.theta1, priors.limiting.theta2) == (10.0, 0.2, 0.7)


def test_overrides_are_arguments_of_the_classifier():
    model = preset("ctgp", draws=7, latent_sampler="metropolis", split_features="categorical")
    assert (model.draws, model.latent_sampler, model.split_features) == (7, "metropolis", "categorical")
    with pytest.raises(ConfigError, match=r"arguments of TreedGPClassifier, got mean"):
        preset("ctgp", mean="linear")
    with pytest.raises(ConfigError, match=r"arguments of TreedGPRegressor, got tree_sharing"):
        preset("btgp", tree_sharing="shared")


def test_an_unknown_name_lists_the_classifiers_too():
    with pytest.raises(ConfigError, match="btgpllm, cgp, ctgp, otgp, bcart_classifier, got 'mtgp'"):
        preset("mtgp")


@pytest.mark.parametrize("name", TABLE)
def test_each_fits_and_predicts(name):
    data = datasets.make_mixed_classes(90, random_state=0)
    model = preset(name, **TINY).fit(data.X, data.y)
    shares = model.predict_proba(data.X)
    assert shares.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert np.isfinite(model.posterior_.log_posterior).all()
    assert len(model.posterior_.layers) == (1 if name == "bcart_classifier" else 2)
    assert model.posterior_.has_tree == (name != "cgp")
    if name == "cgp":
        assert (model.posterior_.n_leaves == 2).all()  # one leaf a class


def test_the_documentation_lists_them():
    page = (Path(__file__).parents[2] / "docs" / "presets.md").read_text()
    section = page.split("## The classifiers of the paper")[1]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \|", section, flags=re.M)
    assert [name for name, _ in rows] == list(TABLE)
    for name, lengths in rows:
        model = preset(name)
        written = (1000, 1000, 1) if lengths == "the defaults" else tuple(map(int, lengths.split(", ")))
        assert (model.tune, model.draws, model.thin) == written
    calls = re.findall(r"`(preset\(.*?\))`", section)
    assert len(calls) == 2
    for call in calls:
        assert isinstance(eval(call, {"preset": preset}), TreedGPClassifier)
