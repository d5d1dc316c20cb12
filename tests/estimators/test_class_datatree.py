"""A classifier's draws as an xarray.DataTree."""

import json
import warnings

import numpy as np
import pytest

from treedgp import Priors, TreedGPClassifier, datasets

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
xarray = pytest.importorskip("xarray")

MODELS = {
    "per_class": {},
    "shared": {"tree_sharing": "shared"},
    "metropolis": {"latent_sampler": "metropolis"},
    "constant": {"leaf": "constant"},
    "cgp": {"tree": False},
}
DATA = datasets.make_mixed_classes(80, random_state=0)
Y = {2: np.where(DATA.y == "wilts", "dies", "lives"), 3: DATA.y}


@pytest.fixture(scope="module", params=[(name, k) for name in MODELS for k in (2, 3)], ids=lambda p: f"{p[0]}-{p[1]}")
def fitted(request):
    name, n_classes = request.param
    settings = {"chains": 2, "draws": 40, "tune": 60, "random_state": 0, **MODELS[name]}
    return name, TreedGPClassifier(**settings).fit(DATA.X, Y[n_classes])


def test_what_each_class_has_of_its_own_has_the_dimension_class(fitted):
    name, model = fitted
    posterior, labels = model.posterior_, model.classes_[:-1].tolist()
    tree = posterior.to_datatree()
    assert set(tree.children) == {"posterior", "sample_stats", "observed_data", "trees"}
    group = tree["posterior"]
    assert group["class"].values.tolist() == labels
    assert group["p"].dims == ("chain", "draw", "probe", "class")
    for i in range(5):
        for c, label in enumerate(labels):
            assert np.array_equal(group["p"][:, :, i, c], posterior.probe_traces[f"p(probe {i}, {label})"])
    assert np.array_equal(group["log_posterior"], posterior.log_posterior)
    assert tree["observed_data"]["y"].values.tolist() == Y[len(labels) + 1].tolist()
    by_class = ("chain", "draw", "class")
    if name in ("per_class", "metropolis"):
        assert group["n_leaves"].dims == group["height"].dims == by_class
        assert np.array_equal(group["n_leaves"].sum("class"), posterior.n_leaves)
    elif name == "cgp":
        assert "n_leaves" not in group
    else:
        assert group["n_leaves"].dims == group["height"].dims == ("chain", "draw")
        assert np.array_equal(group["n_leaves"], posterior.n_leaves)
    if name == "constant":
        assert not {"share_linear_leaves", "g_sigma", "noise_sd", "f"} & set(group.data_vars)
    else:
        assert group["share_linear_leaves"].dims == group["g_sigma"].dims == by_class
        hyper = [layer.by_chain(layer.arrays["hyper"])[:, :, 1] for layer in posterior.layers]
        assert np.array_equal(group["g_sigma"], np.stack(hyper, axis=2))
        assert group["share_linear_leaves"].min() >= 0


def test_it_holds_every_tree(fitted):
    name, model = fitted
    posterior = model.posterior_
    group = posterior.to_datatree()["trees"]
    assert ("class" in group.dims) == (name in ("per_class", "metropolis", "cgp"))
    assert group.attrs["columns"] == list(DATA.X.columns)
    assert set(json.loads(group.attrs["levels"])) == {"species", "pot"}
    for label, forest in posterior.forests.items():
        own = group.dataset.sel({"class": label}) if "class" in group.dims else group.dataset
        starts, sizes = own["node_start"].values.ravel(), own["n_nodes"].values.ravel()
        for draw, (start, n) in enumerate(zip(starts, sizes, strict=True)):
            nodes = own.isel(node=slice(start, start + n))
            rules = list(zip(nodes["column"].values.tolist(), nodes["cut"].values.tolist(), strict=True))
            assert rules == forest.rules(draw)
    is_numeric = np.isin(group["column"].values, [0, 1])
    assert group["threshold"].notnull().values[is_numeric].all()
    assert group["threshold"].isnull().values[~is_numeric].all()
    assert group["n_nodes"].sum() == group.sizes["node"]


def test_hierarchical_coefficients_have_class_and_coefficient():
    model = TreedGPClassifier(priors=Priors(), chains=1, draws=20, tune=20, random_state=0).fit(DATA.X, DATA.y)
    group = model.posterior_.to_datatree()["posterior"]
    assert group["beta0"].dims == ("chain", "draw", "class", "coefficient")
    assert group["coefficient"].values.tolist() == ["(intercept)"]
    assert np.array_equal(group["beta0"].values[0, :, 1, 0], model.posterior_.layers[1].arrays["beta0"][:, 0])


@pytest.mark.parametrize("labels", [["a/b", "..", "c"], [3, 1, 2], [2.0, 1.0, 3.0], ["", "a", "b"]])
def test_any_label_is_a_coordinate(labels):
    x = np.linspace(0, 1, 60)[:, None]
    y = np.array(labels)[(3 * x[:, 0]).astype(int).clip(0, 2)]
    model = TreedGPClassifier(chains=1, draws=20, tune=20, random_state=0).fit(x, y)
    tree = model.posterior_.to_datatree()
    assert tree["posterior"]["class"].values.tolist() == sorted(labels)[:2]
    assert tree["trees"]["node_start"].sel({"class": sorted(labels)[1]}).shape == (1, 20)


def test_it_survives_a_file(fitted, tmp_path):
    pytest.importorskip("h5netcdf")
    tree = fitted[1].posterior_.to_datatree()
    tree.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    with xarray.open_datatree(tmp_path / "fit.nc", engine="h5netcdf") as back:
        for name in tree.children:
            assert tree[name].dataset.drop_attrs().equals(back[name].dataset.drop_attrs().load())


# arviz divides by the variance of a quantity that never changed in these few draws
no_change_seen = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def scalars(model):
    label = model.classes_[1] if len(model.classes_) > 2 else model.classes_[0]
    return label, {"log_posterior", f"p[0, {label}]"}


@no_change_seen
def test_arviz_0_summarises_it(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        az = pytest.importorskip("arviz")
    if not hasattr(az, "from_datatree"):
        pytest.skip("arviz 1 takes the DataTree itself")
    _, model = fitted
    data = az.from_datatree(model.posterior_.to_datatree())
    assert set(data.groups()) == {"posterior", "sample_stats", "observed_data", "trees"}
    table = az.summary(data, round_to="none")
    label, expected = scalars(model)
    assert set(table.index) >= expected
    ours = model.posterior_.summary().loc[f"p(probe 0, {label})"]
    assert table.loc[f"p[0, {label}]", "mean"] == pytest.approx(ours["mean"])
    assert table.loc[f"p[0, {label}]", "ess_bulk"] == pytest.approx(ours["ess_bulk"])


@no_change_seen
def test_arviz_stats_summarises_it(fitted):
    arviz_stats = pytest.importorskip("arviz_stats")
    if not hasattr(arviz_stats, "summary"):
        pytest.skip("arviz-stats is here without its extra [xarray]")
    _, model = fitted
    table = arviz_stats.summary(model.posterior_.to_datatree(), round_to="none")
    label, expected = scalars(model)
    assert set(table.index) >= expected
    assert table.loc[f"p[0, {label}]", "mean"] == pytest.approx(
        model.posterior_.summary().loc[f"p(probe 0, {label})", "mean"]
    )
