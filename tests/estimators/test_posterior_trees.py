"""Posterior trees as a user reads them: map_trees, split_frequencies, split_points, to_datatree."""

import json
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

from treedgp import ConfigError, TreedGPRegressor, datasets
from treedgp.model.data import CategoricalColumn, InputEncoder, NumericColumn
from treedgp.model.problem import Problem
from treedgp.model.spec import SCALAR_MOVES, TREE_MOVES, ModelSpec
from treedgp.posterior.datatree import leaf_average
from treedgp.posterior.draws import Draws
from treedgp.posterior.posterior import Posterior
from treedgp.posterior.predict import Predictor

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

LEAF = (-1, -1)
N = 60


def hand_made(trees, log_posterior, chains=1):
    """A posterior with these trees (preorder lists); the tree may split on colour, then on age."""
    X = np.column_stack([np.arange(N) % 3, np.zeros(N), 20.0 + np.arange(N)])
    columns = (
        CategoricalColumn("colour", np.arange(3.0), ("red", "green", "blue")),
        NumericColumn.learn("weight", X[:, 1]),
        NumericColumn.learn("age", X[:, 2]),
    )
    problem = Problem.make(ModelSpec(leaf="constant"), InputEncoder(columns, (0, 2), ()), X, np.arange(N) * 1.0)
    nodes = np.array([node for tree in trees for node in tree], dtype=np.int32)
    n_leaves = (len(nodes) + len(trees)) // 2
    arrays = {
        "node_start": np.concatenate([[0], np.cumsum([len(tree) for tree in trees])]),
        "column": nodes[:, 0].copy(),
        "cut": nodes[:, 1].copy(),
        "range": np.empty((n_leaves, 0)),
        "gp": np.empty((n_leaves, 0), dtype=np.uint8),
        "nugget": np.zeros(n_leaves),
        "sigma2": np.arange(1.0, n_leaves + 1),
        "tau2": np.ones(n_leaves),
        "beta": np.zeros((n_leaves, 1)),
        "beta0": np.zeros((len(trees), 1)),
        "w_inv": np.ones((len(trees), 1)),
        "hyper": np.ones((len(trees), 4)),
        "log_posterior": np.array(log_posterior, dtype=float),
    }
    counts = np.ones((chains, len(TREE_MOVES) + len(SCALAR_MOVES), 2), dtype=np.int64)
    return Posterior(Predictor(problem, Draws(arrays, chains)), X[:5], counts, 0, True, {})


ROOT = [LEAF]
BY_AGE = [(1, 29), LEAF, LEAF]
BY_RED = [(0, 0), LEAF, LEAF]
GREEN_LEFT = [(0, 0), LEAF, (0, 1), (1, 29), LEAF, LEAF, LEAF]
BLUE_LEFT = [(0, 0), LEAF, (0, 2), LEAF, (1, 29), LEAF, LEAF]  # its mirror
TREES = [ROOT, BY_AGE, BY_RED, BLUE_LEFT, GREEN_LEFT, BY_RED]
LOG_POSTERIOR = [-9.0, -5.0, -4.0, -1.0, -2.0, -6.0]


def test_map_trees_are_the_best_of_their_height_and_merge_mirrors():
    trees = hand_made(TREES, LOG_POSTERIOR, chains=2).map_trees()
    assert list(trees) == [1, 2, 4]
    assert [tree.log_posterior for tree in trees.values()] == [-9, -4, -1]
    assert [tree.n_draws for tree in trees.values()] == [1, 2, 2]
    assert [tree.leaf_sizes for tree in trees.values()] == [(60,), (20, 40), (20, 10, 10, 20)]
    assert str(trees[4]) == (
        "4 leaves, height 4, log posterior -1.00\n"
        "colour == red: 20 rows\n"
        "colour != red:\n"
        "  colour == green:\n"
        "    age <= 49.5: 10 rows\n"
        "    age > 49.5: 10 rows\n"
        "  colour != green: 20 rows"
    )


def test_both_mirrors_print_the_same():
    one, other = (hand_made([tree], [0.0]).map_trees()[4] for tree in (GREEN_LEFT, BLUE_LEFT))
    assert one == other


def test_split_frequencies_count_draws_not_splits():
    shares = hand_made(TREES, LOG_POSTERIOR, chains=2).split_frequencies()
    assert shares.index.tolist() == ["colour", "age"]
    assert shares.tolist() == [4 / 6, 3 / 6]


def test_split_points_are_in_the_users_units_and_levels():
    posterior = hand_made(TREES, LOG_POSTERIOR, chains=2)
    ages = posterior.split_points("age")
    assert ages.to_dict("list") == {"chain": [0, 1, 1], "draw": [1, 0, 1], "depth": [0, 2, 2], "threshold": [49.5] * 3}
    colours = posterior.split_points("colour")
    assert colours["chain"].tolist() == [0, 1, 1, 1, 1, 1]
    assert colours["draw"].tolist() == [2, 0, 0, 1, 1, 2]
    assert colours["depth"].tolist() == [0, 0, 1, 0, 1, 0]
    assert colours["level"].tolist() == ["red", "red", "green", "red", "green", "red"]
    assert posterior.split_points(2).equals(ages)
    assert posterior.split_points(0).equals(colours)


def test_no_splits_give_an_empty_frame():
    posterior = hand_made([ROOT, ROOT], [0.0, 1.0])
    assert posterior.split_frequencies().tolist() == [0, 0]
    assert posterior.split_points("age").columns.tolist() == ["chain", "draw", "depth", "threshold"]
    assert len(posterior.split_points("age")) == len(posterior.split_points("colour")) == 0
    assert list(posterior.map_trees()) == [1]


@pytest.mark.parametrize("column", ["weight", "height", 1, -1, 3, np.array([0, 2]), np.array([2]), ["age"], None])
def test_split_points_of_another_column_are_refused(column):
    with pytest.raises(ConfigError, match=r"name or index of a column.*Those columns are: colour, age"):
        hand_made(TREES, LOG_POSTERIOR).split_points(column)


@pytest.mark.parametrize("method", ["map_trees", "split_frequencies"])
def test_a_target_is_for_classifiers(method):
    with pytest.raises(ConfigError, match="target"):
        getattr(hand_made(TREES, LOG_POSTERIOR), method)(target="yes")


def test_a_full_run_is_read_in_well_under_a_second():
    posterior = hand_made(TREES * 700, LOG_POSTERIOR * 700, chains=4)
    began = time.perf_counter()
    posterior.split_frequencies()
    posterior.map_trees()
    assert time.perf_counter() - began < 1.0


# --- fitted models ---


@pytest.fixture(scope="module")
def friedman():
    """Every column may split."""
    data = datasets.make_friedman_categorical(500, random_state=1)
    model = TreedGPRegressor(categorical_features=[10], draws=250, chains=2, random_state=0)
    return model.fit(data.X, data.y), data


def test_friedman_trees_split_on_the_category_in_every_draw_and_on_no_useless_input(friedman):
    shares = friedman[0].posterior_.split_frequencies()
    assert len(shares) == 11
    assert shares.iloc[10] == 1
    # Chance: how often a tree of the prior splits on a given one of 11 columns. Its root does so with probability
    # alpha / 11, the whole tree a little more often.
    assert (shares.iloc[5:10] <= friedman[0].priors_.tree.alpha / 11).all()


def test_friedman_regions_are_the_categories(friedman):
    posterior, data = friedman[0].posterior_, friedman[1]
    best = max(posterior.map_trees().values(), key=lambda tree: tree.log_posterior)
    assert best.log_posterior == posterior.log_posterior.max()
    assert sorted(best.leaf_sizes) == sorted(np.bincount(data.X[:, 10].astype(int)).tolist())


@pytest.fixture(scope="module")
def linear():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(80, 2)), rng.integers(2, size=80)])
    y = 100 + 10 * np.where(X[:, 0] < 0.5, 0, X[:, 2]) + rng.standard_normal(80)
    model = TreedGPRegressor(leaf="linear", categorical_features=[2], draws=150, tune=100, chains=3, random_state=0)
    return model.fit(X, y), X, y


def test_map_trees_have_the_largest_log_posterior_among_draws_of_their_height(linear):
    posterior = linear[0].posterior_
    heights = posterior.draws.by_chain(posterior.forests[None].height)
    trees = posterior.map_trees()
    assert set(trees) == set(np.unique(heights).tolist())
    for height, tree in trees.items():
        assert tree.height == height
        assert tree.log_posterior == posterior.log_posterior[heights == height].max()
        assert sum(tree.leaf_sizes) == 80
        assert min(tree.leaf_sizes) >= 10
    assert len(trees) > 1


def test_split_points_of_a_fit_agree_with_its_frequencies(linear):
    posterior = linear[0].posterior_
    for index, share in enumerate(posterior.split_frequencies()):
        points = posterior.split_points(index)
        assert len(points[["chain", "draw"]].drop_duplicates()) == share * 450
    assert set(posterior.split_points(2)["level"]) == {"0"}  # two levels are always left: mirrors merge


def test_a_model_without_a_tree_has_one_leaf():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(30, 2)), rng.standard_normal(30)
    posterior = TreedGPRegressor(leaf="linear", tree=False, draws=20, tune=20, chains=1).fit(X, y).posterior_
    assert posterior.map_trees()[1].leaf_sizes == (30,)
    assert posterior.split_frequencies().tolist() == [0, 0]


# --- xarray ---


def test_datatree_holds_shapes_and_values(linear):
    pytest.importorskip("xarray")
    model, _, y = linear
    posterior = model.posterior_
    tree = posterior.to_datatree()
    assert set(tree.children) == {"posterior", "sample_stats", "observed_data", "trees"}
    group = tree["posterior"]
    assert dict(group.sizes) == {"chain": 3, "draw": 150, "probe": 5, "coefficient": 3}
    assert np.array_equal(group["log_posterior"], posterior.log_posterior)
    assert np.array_equal(group["n_leaves"], posterior.n_leaves)
    assert np.array_equal(group["f"], np.stack([*posterior.probe_traces.values()], axis=-1))
    assert group["f"].dims == ("chain", "draw", "probe")
    assert group["beta0"].dims == ("chain", "draw", "coefficient")
    hyper = posterior.draws.by_chain(posterior.draws.arrays["hyper"])
    for i, name in enumerate(("a_sigma", "g_sigma", "a_tau", "g_tau")):
        assert np.array_equal(group[name], hyper[:, :, i])
    assert set(np.unique(group["height"]).tolist()) == set(posterior.map_trees())
    assert np.array_equal(tree["sample_stats"]["lp"], posterior.log_posterior)
    assert np.array_equal(tree["sample_stats"].attrs["tree_changes"], posterior.tree_changes)
    assert np.array_equal(tree["sample_stats"].attrs["accepted_grow"], posterior.counts[:, 0, 1])
    assert tree["observed_data"]["y"].values == pytest.approx(y, rel=1e-12)


def test_datatree_holds_every_tree():
    pytest.importorskip("xarray")
    group = hand_made(TREES, LOG_POSTERIOR, chains=2).to_datatree()["trees"]
    read = []
    for start, n in zip(group["node_start"].values.ravel(), group["n_nodes"].values.ravel(), strict=True):
        nodes = group.dataset.isel(node=slice(start, start + n))
        read.append(list(zip(nodes["column"].values.tolist(), nodes["cut"].values.tolist(), strict=True)))
    assert read == TREES
    assert group.attrs["columns"] == ["colour", "age"]
    assert json.loads(group.attrs["levels"]) == {"colour": ["red", "green", "blue"]}
    is_numeric = group["column"] == 1
    assert (group["threshold"].values[is_numeric] == 49.5).all()
    assert group["threshold"].isnull().values[~is_numeric].all()


@pytest.mark.parametrize("settings", [{}, {"limiting_linear": False}, {"leaf": "linear"}, {"leaf": "constant"}])
def test_datatree_noise_is_that_of_predictions(settings):
    pytest.importorskip("xarray")
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(40, 1))
    y = 50 * np.sin(6 * X[:, 0]) + 5 * rng.standard_normal(40)
    model = TreedGPRegressor(tree=False, draws=40, tune=60, chains=2, random_state=0, **settings).fit(X, y)
    group = model.posterior_.to_datatree()["posterior"]
    (_, of_y), (_, of_f) = (model.posterior_.predictor.mean_and_variance(X[:1], of) for of in "yf")
    assert float((group["noise_sd"] ** 2).mean()) == pytest.approx(float((of_y - of_f)[0]), rel=1e-6)
    has_limit = settings == {}
    assert ("share_linear_leaves" in group) == has_limit


def test_datatree_leaf_averages_are_over_each_draws_leaves():
    pytest.importorskip("xarray")
    posterior = hand_made([ROOT, BY_AGE, BY_RED], [0.0, 0.0, 0.0])
    noise = leaf_average(posterior.draws, posterior.draws.arrays["sigma2"])
    assert noise.tolist() == [[1.0, 2.5, 4.5]]


def test_datatree_survives_a_file(linear, tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    tree = linear[0].posterior_.to_datatree()
    tree.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    with xarray.open_datatree(tmp_path / "fit.nc", engine="h5netcdf") as back:
        for name in tree.children:
            xarray.testing.assert_identical(tree[name].dataset.drop_attrs(), back[name].dataset.drop_attrs().load())


SCALARS = {"log_posterior", "n_leaves", "height", "f[0]", "noise_sd", "a_sigma", "g_tau", "beta0[(intercept)]"}


def test_arviz_0_summarises_the_datatree(linear):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        az = pytest.importorskip("arviz")
    if not hasattr(az, "from_datatree"):
        pytest.skip("arviz 1 takes the DataTree itself")
    posterior = linear[0].posterior_
    data = az.from_datatree(posterior.to_datatree())
    assert set(data.groups()) == {"posterior", "sample_stats", "observed_data", "trees"}
    table = az.summary(data, round_to="none")
    assert set(table.index) >= SCALARS
    ours = posterior.summary()
    assert table.loc["f[0]", "mean"] == pytest.approx(ours.loc["f(probe 0)", "mean"])
    assert table.loc["f[0]", "r_hat"] == pytest.approx(ours.loc["f(probe 0)", "rhat"])
    assert table.loc["f[0]", "ess_bulk"] == pytest.approx(ours.loc["f(probe 0)", "ess_bulk"])


def test_arviz_stats_summarises_the_datatree(linear):
    arviz_stats = pytest.importorskip("arviz_stats")
    if not hasattr(arviz_stats, "summary"):
        pytest.skip("arviz-stats is here without its extra [xarray]")
    posterior = linear[0].posterior_
    table = arviz_stats.summary(posterior.to_datatree(), round_to="none")
    assert set(table.index) >= SCALARS
    assert table.loc["f[0]", "mean"] == pytest.approx(posterior.summary().loc["f(probe 0)", "mean"])


def test_arviz_summarises_a_model_without_a_tree():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        az = pytest.importorskip("arviz")
    if not hasattr(az, "from_datatree"):
        pytest.skip("arviz 1 takes the DataTree itself")
    X, y = np.arange(30.0)[:, None], np.arange(30) % 7
    model = TreedGPRegressor(tree=False, leaf="linear", draws=50, tune=50, chains=2, random_state=0).fit(X, y)
    table = az.summary(az.from_datatree(model.posterior_.to_datatree()))
    assert "n_leaves" not in table.index  # nothing to diagnose in a constant
    assert table["r_hat"].notna().all()


def test_missing_xarray_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"treedgp\[datatree\]"):
        hand_made(TREES, LOG_POSTERIOR).to_datatree()


def test_importing_treedgp_does_not_import_xarray():
    code = "import sys, treedgp; assert 'xarray' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
