"""tgp's models by name, and the rows of the paper's Section 4.1."""

import re
from pathlib import Path

import numpy as np
import pytest

from treedgp import ConfigError, TreedGPRegressor
from treedgp.datasets import make_friedman_categorical
from treedgp.estimators.presets import preset

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

# leaf, tree, limiting_linear, then burn-in, total and thinning: section 1 of the specification
TABLE = {
    "blm": ("linear", False, False, 1000, 4000, 3),
    "btlm": ("linear", True, False, 2000, 7000, 2),
    "bcart": ("constant", True, False, 2000, 7000, 2),
    "bgp": ("gp", False, False, 1000, 4000, 2),
    "bgpllm": ("gp", False, True, 1000, 4000, 2),
    "btgp": ("gp", True, False, 2000, 7000, 2),
    "btgpllm": ("gp", True, True, 2000, 7000, 2),
}
REALS, CATEGORY = list(range(10)), 10
TINY = {"draws": 20, "tune": 20, "thin": 1, "chains": 1, "random_state": 0}


@pytest.mark.parametrize("name", TABLE)
def test_settings_are_those_of_tgp(name):
    model = preset(name)
    leaf, tree, limiting, burn_in, total, thin = TABLE[name]
    assert isinstance(model, TreedGPRegressor)
    assert (model.leaf, model.tree, model.limiting_linear) == (leaf, tree, limiting)
    assert (model.tune, model.thin, model.chains) == (burn_in, thin, 4)
    assert model.tune + model.draws * model.thin == total
    assert model.mean == ("constant" if name == "bcart" else "linear")
    assert (model.kernel, model.isotropic) == ("gaussian", False)


def test_run_lengths_of_the_issue():
    assert [(m.tune, m.draws, m.thin) for m in map(preset, ("btgp", "blm", "bgp"))] == [
        (2000, 2500, 2),
        (1000, 1000, 3),
        (1000, 1500, 2),
    ]


@pytest.mark.parametrize("name", TABLE)
def test_priors_are_those_of_tgp(name):
    priors = preset(name).priors
    assert (priors.tree.alpha, priors.tree.beta, priors.tree.min_leaf) == (0.5, 2.0, None)
    assert priors.lengthscale.components() == [(0.5, 1.0, 20.0), (0.5, 10.0, 10.0)]
    assert priors.nugget.components() == [(1.0, 1.0, 1.0)]
    assert (priors.noise.a, priors.noise.g, priors.noise.rates) == (5.0, 10.0, (0.2, 10.0))
    assert priors.coefficients.kind == "flat"
    assert (priors.limiting.gamma, priors.limiting.theta1, priors.limiting.theta2) == (10.0, 0.2, 0.7)


def test_overrides_are_arguments_of_the_constructor():
    model = preset("btgp", draws=7, leaf_features=[0], n_jobs=2)
    assert (model.draws, model.leaf_features, model.n_jobs, model.tune) == (7, [0], 2, 2000)
    assert preset("btgp").draws == 2500


@pytest.mark.parametrize("name", ["btgp4", "", None, ["btgp"]])
def test_an_unknown_name_lists_the_known(name):
    with pytest.raises(ConfigError, match="blm, btlm, bcart, bgp, bgpllm, btgp, btgpllm"):
        preset(name)


@pytest.mark.parametrize("argument", ["basemax", "splitmin", "drawz"])
def test_an_unknown_override_is_named(argument):
    with pytest.raises(ConfigError, match=f"{argument}.*leaf_features"):
        preset("btgp", **{argument: 10})


ROWS = {
    "bcart": ("category", lambda **kw: preset("bcart", **kw)),
    "btlm": ("bits3", lambda **kw: preset("btlm", **kw)),
    "btlm2": ("category", lambda **kw: preset("btlm", leaf_features=REALS, **kw)),
    "btgp": ("bits3", lambda **kw: preset("btgp", **kw)),
    "btgp2": ("category", lambda **kw: preset("btgp", leaf_features=REALS, **kw)),
    "btgp3": ("category", lambda **kw: preset("btgp", leaf_features=REALS, split_features=[CATEGORY], **kw)),
    "btgpllm": ("bits3", lambda **kw: preset("btgpllm", **kw)),
    "btgp2llm": ("category", lambda **kw: preset("btgpllm", leaf_features=REALS, **kw)),
    "btgp3llm": ("category", lambda **kw: preset("btgpllm", leaf_features=REALS, split_features=[CATEGORY], **kw)),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_row_of_the_paper_fits_in_a_line(row):
    coding, make = ROWS[row]
    data = make_friedman_categorical(150, coding, random_state=1)
    categorical = [CATEGORY] if coding == "category" else None
    model = make(categorical_features=categorical, **TINY).fit(data.X, data.y)
    arrays = model.posterior_.draws.arrays
    leaf_columns = 0 if row == "bcart" else 13 if coding == "bits3" else 10
    assert arrays["beta"].shape[1] == leaf_columns + 1
    assert arrays["range"].shape[1] == (leaf_columns if model.leaf == "gp" else 0)
    if "llm" not in row:
        assert arrays["gp"].all()
    if row.startswith("btgp3"):  # the only split column, whatever its index
        assert set(arrays["column"].tolist()) <= {-1, 0}
    assert np.isfinite(model.predict(data.X)).all()


def test_the_tree_finds_the_category():
    data = make_friedman_categorical(300, random_state=0)
    settings = TINY | {"tune": 400, "draws": 50}
    model = preset("btlm", leaf_features=REALS, split_features=[CATEGORY], categorical_features=[CATEGORY], **settings)
    model.fit(data.X, data.y)
    assert (model.posterior_.n_leaves == 4).mean() > 0.9
    assert np.sqrt(np.mean((model.predict(data.X) - data.f) ** 2)) < 2.0  # the paper's btlm2: 1.7


def test_the_table_of_the_documentation_is_valid():
    page = (Path(__file__).parents[2] / "docs" / "presets.md").read_text()
    calls = re.findall(r"`(preset\(.*?\))` \|", page)
    reals, category = [f"x{i}" for i in range(1, 11)], "category"
    models = [eval(call, {"preset": preset, "reals": reals, "category": category}) for call in calls]
    assert len(models) == len(ROWS)
    assert calls == re.findall(r" (preset\(.*\))$", preset.__doc__, flags=re.M)
    lengths = re.findall(r"^\| `(\w+)` \|.*\| (\d+), (\d+), (\d+) \|$", page, flags=re.M)
    assert {name: tuple(map(int, numbers)) for name, *numbers in lengths} == {
        name: (m.tune, m.draws, m.thin) for name, m in ((name, preset(name)) for name in TABLE)
    }
