"""Every plot shows the numbers it says it shows."""

import subprocess
import sys
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from treedgp import ConfigError, DataError, TreedGPClassifier, TreedGPRegressor, datasets, plot
from treedgp.plot.calibrations import binned
from treedgp.plot.fitted import Fitted
from treedgp.plot.partitions import STRIP
from treedgp.plot.regions import leaf_of_rows
from treedgp.plot.style import COLOURS, LONGEST, shorten

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
SETTINGS = {"draws": 60, "tune": 100, "chains": 2, "random_state": 0}


@pytest.fixture(scope="module")
def line():
    data = datasets.load_motorcycle()
    return TreedGPRegressor(**SETTINGS).fit(pd.DataFrame(data.X, columns=["time $\\frac"]), data.y)


@pytest.fixture(scope="module")
def plane():
    data = datasets.make_exp2d(80, random_state=1)
    return TreedGPRegressor(**SETTINGS).fit(data.X, data.y)


@pytest.fixture(scope="module")
def mixed():
    """Numeric, text, bool and missing levels."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.uniform(20, 80, 90).round(),
            "colour": rng.choice(["red", "green", None], 90),
            "old": rng.integers(2, size=90).astype(bool),
        }
    )
    y = 10 * (X["colour"] == "red") + 0.1 * X["age"] + rng.standard_normal(90)
    return TreedGPRegressor(leaf="linear", **SETTINGS).fit(X, y)


@pytest.fixture(scope="module")
def plants():
    return datasets.make_mixed_classes(150, random_state=1)


@pytest.fixture(scope="module")
def classes(plants):
    return TreedGPClassifier(**SETTINGS).fit(plants.X, plants.y)


@pytest.fixture(scope="module")
def steps():
    data = datasets.make_step_classes()
    return TreedGPClassifier(tree_sharing="shared", **SETTINGS).fit(data.X, data.y)


@pytest.fixture(params=["line", "plane", "mixed", "classes", "steps"])
def model(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def crowd():
    """Twenty classes with long names."""
    x = np.arange(100.0)
    names = np.array([f"the plant in this pot, number {i}" for i in range(20)])
    few = {"draws": 3, "tune": 3, "chains": 1, "random_state": 0}
    return TreedGPClassifier(**few).fit(pd.DataFrame({"x": x, "z": x % 10}), names[np.arange(100) // 5])


@pytest.fixture(scope="module")
def levels():
    """A column with fifty levels, which leaves use, too."""
    kind = np.arange(200) % 50
    X = pd.DataFrame({"kind": [f"level {k:02d} of it" for k in kind], "x": np.arange(200.0)})
    return TreedGPRegressor(leaf="constant", **SETTINGS).fit(X, kind // 25)


def texts(ax):
    return [text.get_text() for text in ax.texts]


# --- what all have in common ---


@pytest.mark.parametrize("name", [name for name in plot.__all__ if name not in ("latent", "surface")])
def test_draws_on_new_axes_and_on_those_given(model, name):
    function = getattr(plot, name)
    ax = function(model)
    assert isinstance(ax, Axes)
    ax.figure.draw_without_rendering()
    own = Figure().add_subplot()
    assert function(model, own) is own
    assert own.has_data() or own.texts


@pytest.mark.parametrize("name", plot.__all__)
def test_needs_a_fit(name):
    with pytest.raises(NotFittedError):
        getattr(plot, name)(TreedGPRegressor())


@pytest.mark.parametrize("name", plot.__all__)
def test_needs_an_estimator_of_this_package(plane, name):
    expected = "Expected a fitted TreedGPRegressor or TreedGPClassifier, got "
    with pytest.raises(ConfigError, match=rf"{expected}Pipeline: pass its last step, pipeline\[-1\]\."):
        getattr(plot, name)(make_pipeline(plane))
    with pytest.raises(ConfigError, match=f"{expected}LinearRegression."):
        getattr(plot, name)(LinearRegression())


def test_pyplot_and_settings_of_matplotlib_are_left_alone(plane):
    import matplotlib

    def settings():
        return {
            name: matplotlib.rcParams[name] for name in matplotlib.rcParams if name != "backend"
        }  # found on reading

    before = settings()
    for name in ("tree", "partition", "surface", "slice", "trace", "calibration"):
        getattr(plot, name)(plane).figure.draw_without_rendering()
    assert settings() == before
    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "import numpy as np, treedgp, treedgp.plot\n"
        "assert 'matplotlib' not in sys.modules\n"
        "X = np.arange(30.0)[:, None]\n"
        "m = treedgp.TreedGPRegressor(leaf='constant', draws=20, tune=20, chains=1).fit(X, X[:, 0])\n"
        "treedgp.plot.slice(m).figure.draw_without_rendering()\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_matplotlib_names_the_extra(plane, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'treedgp\[plot\]'"):
        plot.tree(plane)


def legend_of(ax):
    return [text.get_text().lstrip("\N{ZERO WIDTH SPACE}") for text in ax.get_legend().get_texts()]


def test_classes_that_begin_with_an_underscore_are_in_the_legend():
    x = np.arange(45.0)
    labels = np.array(["__a", "_b", "c"])[np.arange(45) // 15]
    model = TreedGPClassifier(**SETTINGS | {"draws": 5}).fit(np.column_stack([x, x % 7]), labels)
    for draw in (plot.slice, plot.projection, plot.partition, plot.calibration, plot.surface, plot.tree):
        assert legend_of(draw(model)) == ["__a", "_b", "c"]
    assert legend_of(plot.latent(model)) == ["__a", "_b", "c (base)"]
    assert legend_of(plot.split_frequencies(model)) == ["__a", "_b"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["slice", "projection", "latent", "partition", "surface", "split_frequencies"])
def test_a_figure_has_room_for_its_legend_unless_it_is_the_users(crowd, name):
    ax = getattr(plot, name)(crowd)
    ax.figure.draw_without_rendering()
    assert ax.bbox.height > 2 * ax.figure.dpi  # inches
    assert max(map(len, legend_of(ax))) == LONGEST
    own = Figure(figsize=(4, 3)).add_subplot()
    getattr(plot, name)(crowd, own)
    assert own.figure.get_size_inches().tolist() == [4, 3]


def test_labels_of_many_levels_do_not_overlap(levels, crowd):
    for draw, axis, least in (
        (lambda: plot.slice(levels, column="kind"), "x", 12),
        (lambda: plot.partition(levels, columns=["x", "kind"]), "y", 12),
        (lambda: plot.partition(crowd, columns=["x"]), "y", 20),
    ):
        ax = draw()
        ax.figure.draw_without_rendering()
        labels = getattr(ax, f"{axis}axis").get_ticklabels()
        boxes = [label.get_window_extent() for label in labels]
        ends = [(getattr(box, f"{axis}0"), getattr(box, f"{axis}1")) for box in boxes]
        assert len(ends) >= least
        assert all(end <= begin for (_, end), (begin, _) in pairwise(ends))


def test_bars_of_many_levels_stand_apart(levels):
    ax = plot.slice(levels, column="kind")
    ax.figure.draw_without_rendering()
    apart = np.diff(ax.transData.transform([(0, 0), (1, 0)])[:, 0])[0] * 72 / ax.figure.dpi  # points
    assert ax.collections[0].get_linewidth()[0] < 0.8 * apart


# --- rows and regions ---


def test_columns_without_text_names_have_numbers():
    X = pd.DataFrame({0: np.arange(40.0), 1: ["a", "b"] * 20})
    model = TreedGPClassifier(leaf="constant", **SETTINGS).fit(X, X[1])
    assert plot.slice(model, column=1).lines


def test_leaves_hold_as_many_rows_as_the_trees_say(model):
    fitted = Fitted.of(model)
    for target in fitted.targets:
        for tree in fitted.map_trees(target).values():
            sizes = np.bincount(leaf_of_rows(tree.root, fitted, fitted.X), minlength=tree.n_leaves)
            assert tuple(sizes) == tree.leaf_sizes


def test_typical_rows_hold_medians_commonest_levels_and_what_is_given(mixed):
    fitted = Fitted.of(mixed)
    row = fitted.typical({"colour": "red", "old": True})
    assert row[0] == np.median(fitted.X[:, 0])
    assert fitted.columns[1].labels[int(row[1])] == "red"
    assert fitted.columns[2].labels[int(row[2])] == "True"
    assert fitted.typical()[1] == np.bincount(fitted.X[:, 1].astype(int)).argmax()
    with pytest.raises(ConfigError, match="level of 'colour'"):
        fitted.typical({"colour": "blue"})
    with pytest.raises(ConfigError, match="finite number for 'age'"):
        fitted.typical({"age": "old"})
    with pytest.raises(ConfigError, match=r"at: expected names .* Did you mean 'colour'"):
        fitted.typical({"color": "red"})


def test_levels_of_a_typical_row_are_matched_as_those_of_new_rows(mixed):
    kind = np.tile([1.0, 2.0, 0.5], 20)
    X = np.column_stack([np.arange(60.0), kind])
    model = TreedGPRegressor(leaf="constant", categorical_features=[1], **SETTINGS).fit(X, kind)
    for value, code in ((0.5, 0), (1.0, 1), (2, 2), (kind[1], 2), ("1", 1)):
        assert Fitted.of(model).typical({"x1": value})[1] == code
    with pytest.raises(ConfigError, match=r"level of 'x1' \(0.5, 1, 2\), got 3.0"):
        plot.slice(model, column=0, at={1: 3.0})
    missing = Fitted.of(mixed).columns[1].labels.index("missing")
    for value in (None, np.nan, "missing"):
        assert Fitted.of(mixed).typical({"colour": value})[1] == missing


def test_a_place_is_a_dict_and_columns_are_a_list(plane):
    with pytest.raises(ConfigError, match=r"at must be a dict, column -> number or level.*got 'x0'"):
        plot.slice(plane, at="x0")
    for name in ("partition", "surface"):
        with pytest.raises(ConfigError, match=r"columns must be a list of .*two columns, such as .*, got 'x0'"):
            getattr(plot, name)(plane, columns="x0")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, "inf", 10**400])
def test_a_column_stands_at_a_finite_number(plane, value):
    for name in ("slice", "partition"):
        with pytest.raises(ConfigError, match="at: expected a finite number for 'x0', got"):
            getattr(plot, name)(plane, at={"x0": value})


def test_a_wrong_column_is_told_with_its_argument(plane):
    for name, argument in (("slice", "column"), ("partition", "columns"), ("surface", "columns")):
        with pytest.raises(ConfigError, match=f"^{argument}: expected names"):
            getattr(plot, name)(plane, **{argument: "q" if argument == "column" else ["q", "x1"]})


def test_the_place_of_the_other_columns_is_written_in_full():
    X = pd.DataFrame({"x": np.arange(30.0), "year": 1990 + np.arange(30), "same": 2011.0, "share": np.arange(30) / 7e5})
    fitted = Fitted.of(TreedGPRegressor(leaf="constant", **SETTINGS).fit(X, X["x"]))
    row = fitted.typical({"year": 2012})
    assert fitted.rest(row, [0]) == "year = 2012, same = 2011, share = 2.07e-05"
    assert fitted.rest(fitted.typical({"year": 1234567.25}), [0, 2, 3]) == "year = 1234567.2"


def test_names_have_no_character_that_a_file_cannot_have():
    assert shorten("a\x00b\x1a\ufffe\ud800") == "a\ufffdb\ufffd\ufffd\ufffd"
    assert shorten("नि\u200dन \U0001f331") == "नि\u200dन \U0001f331"


def test_long_names_keep_both_ends():
    assert shorten("leaf_area_in_week_1", 12) == "leaf_a…eek_1"
    assert shorten("leaf_area_in_week_12", 19) == "leaf_area…n_week_12"
    assert shorten("x" * 12, 12) == "x" * 12


# --- trees and partitions ---


def test_tree_has_rules_in_the_users_units_leaf_sizes_and_means(mixed):
    fitted = Fitted.of(mixed)
    height, best = max(fitted.map_trees().items(), key=lambda item: item[1].log_posterior)
    assert best.n_leaves > 1
    shown = texts(plot.tree(mixed))
    assert shown == texts(plot.tree(mixed, height=height))
    for size in best.leaf_sizes:
        assert any(text.endswith(f"\nn = {size}") for text in shown)
    operator = "≤" if best.root.level is None else "="
    assert f"{best.root.column}\n{operator} {best.root.label}" in shown
    first = fitted.y[leaf_of_rows(best.root, fitted, fitted.X) == 0].mean()
    assert any(text.startswith(f"mean {first:.1f}\n") for text in shown)
    with pytest.raises(ConfigError, match="height must be one that was drawn"):
        plot.tree(mixed, height=99)


def test_leaves_of_a_tree_do_not_hide_each_other_and_their_means_differ():
    x = np.arange(60.0)
    model = TreedGPRegressor(leaf="constant", **SETTINGS).fit(x[:, None], -1.2e9 + 1e6 * (x // 20) + x % 7)
    ax = plot.tree(model)
    ax.figure.draw_without_rendering()
    leaves = [text for text in ax.texts if text.get_text().startswith("mean")]
    assert len({text.get_text() for text in leaves}) == len(leaves) == 3
    boxes = [text.get_bbox_patch().get_window_extent() for text in leaves]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_a_leaf_of_a_classifier_has_a_bar_of_its_classes(classes):
    fitted, target = Fitted.of(classes), classes.classes_[1]
    best = fitted.best_tree(target)
    ax = plot.tree(classes, target=target)
    leaf = fitted.y[leaf_of_rows(best.root, fitted, fitted.X) == 0]
    shares = np.bincount(leaf.astype(int), minlength=3) / len(leaf)
    widths = [bar.get_width() for bar in ax.patches[:3]]
    assert widths == pytest.approx(0.8 * shares)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(classes.classes_)


@pytest.mark.parametrize("name", ["tree", "partition"])
def test_a_tree_of_one_class_is_titled_and_the_legend_above(classes, steps, plane, name):
    function = getattr(plot, name)
    assert function(classes).get_title(loc="left") == "tree of class survives"
    ax = function(classes, target="thrives")
    assert ax.get_title(loc="left") == "tree of class thrives"
    ax.figure.draw_without_rendering()
    (title,) = ax.findobj(lambda artist: isinstance(artist, Text) and artist.get_text() == "tree of class thrives")
    assert title.get_window_extent().y1 < ax.get_legend().get_window_extent().y0
    assert [function(model).get_title(loc="left") for model in (steps, plane)] == ["", ""]


def test_partition_of_a_line_is_cut_at_the_thresholds(line):
    best = Fitted.of(line).best_tree()
    cuts = [entry.get_xdata()[0] for entry in plot.partition(line).lines]
    assert len(cuts) == best.n_leaves - 1
    assert best.root.threshold in cuts


@pytest.mark.parametrize("least", [0, 1000])
def test_split_points_leave_the_response_its_axis(least):
    x = np.arange(40.0)
    model = TreedGPRegressor(leaf="constant", **SETTINGS).fit(x[:, None], least + x // 20)
    assert plot.partition(model).get_ylim() == pytest.approx((least - STRIP, least + 1 + STRIP))


def test_partition_of_a_plane_is_drawn_over_the_data(plane):
    best = Fitted.of(plane).best_tree()
    ax = plot.partition(plane)
    lines, points = ax.collections
    assert best.n_leaves > 1
    assert any(best.root.threshold in (x0, y0) for (x0, y0), _ in lines.get_segments())
    assert np.array_equal(points.get_offsets(), Fitted.of(plane).X)


@pytest.mark.parametrize("columns", [[], [0, 0], [0, 1, 0]])
def test_partition_needs_one_or_two_columns(plane, columns):
    with pytest.raises(ConfigError, match="one or two"):
        plot.partition(plane, columns=columns)


# --- surfaces and curves ---


def test_surface_shows_predictions(plane):
    low, high = Fitted.of(plane).X.min(axis=0), Fitted.of(plane).X.max(axis=0)
    corners = np.array([low, [high[0], low[1]], high])
    mean, sd = plane.predict(corners, return_std=True)
    for of, expected in (("mean", mean), ("error", sd)):
        shown = np.asarray(plot.surface(plane, of=of).images[0].get_array())
        assert [shown[0, 0], shown[0, -1], shown[-1, -1]] == pytest.approx(expected)


def test_surface_of_classes_shows_the_likeliest_and_probabilities(classes):
    columns = ["temperature", "humidity"]
    pixels = np.asarray(plot.surface(classes, columns=columns).images[0].get_array())
    share = np.asarray(plot.surface(classes, columns=columns, target="wilts").images[0].get_array())
    bits = np.asarray(plot.surface(classes, columns=columns, of="error").images[0].get_array())
    assert pixels.shape == (50, 50, 4)
    assert len(np.unique(pixels[..., :3].reshape(-1, 3), axis=0)) > 1
    assert share.min() >= 0
    assert share.max() <= 1
    assert 0 <= bits.min() < bits.max() <= np.log2(3)
    with pytest.raises(ConfigError, match="target must be one of"):
        plot.surface(classes, columns=columns, target="nothing")


def test_surface_needs_two_numeric_columns(line, mixed, plane):
    for model, columns in ((line, None), (mixed, ["age", "colour"]), (plane, [0, 0])):
        with pytest.raises(ConfigError, match="two different numeric columns"):
            plot.surface(model, columns=columns)
    with pytest.raises(ConfigError, match="of must be"):
        plot.surface(plane, of="variance")
    with pytest.raises(ConfigError, match=r"got a model with only age\."):
        plot.surface(mixed)
    with pytest.raises(ConfigError, match=r"got \['age'\] of age, colour, old\."):
        plot.surface(mixed, columns=["age"])


def test_surface_of_a_regressor_has_no_target(plane):
    with pytest.raises(ConfigError, match="a regressor has none: expected None, got 'a'"):
        plot.surface(plane, target="a")


def test_slice_shows_mean_and_intervals(plane):
    ax = plot.slice(plane, column="x1", at={"x0": 0.5}, level=0.8)
    x, mean = ax.lines[0].get_data()
    X = np.column_stack([np.full(len(x), 0.5), x])
    assert mean == pytest.approx(plane.predict(X))
    low = plane.predict_interval(X, 0.8, of="f")[:, 0]
    assert ax.collections[1].get_paths()[0].vertices[1 : len(x) + 1, 1] == pytest.approx(low)
    assert "x0 = 0.5" in ax.get_xlabel()


def test_slice_and_projection_of_a_classifier_show_probabilities(classes):
    for ax in (plot.slice(classes, column="humidity"), plot.projection(classes, column="humidity")):
        assert sum(entry.get_ydata() for entry in ax.lines) == pytest.approx(np.ones(len(ax.lines[0].get_xdata())))
        assert [entry.get_label() for entry in ax.lines] == list(classes.classes_)


def test_bars_of_many_classes_differ_and_their_legend_has_room():
    x = np.arange(200.0)
    model = TreedGPClassifier(leaf="constant", tree=False, **SETTINGS).fit(x[:, None], np.arange(200) % 20)
    ax = plot.tree(model)
    bars = {(bar.get_facecolor(), bar.get_hatch()) for bar in ax.patches}
    assert len(ax.patches) == len(bars) == 20
    ax.figure.draw_without_rendering()
    assert ax.bbox.height > 0.6 * ax.figure.dpi  # inches
    with_room = ax.figure.get_figheight()
    few = TreedGPClassifier(leaf="constant", tree=False, **SETTINGS).fit(x[:, None], np.arange(200) % 3)
    assert plot.tree(few).figure.get_figheight() < with_room


def test_points_bars_and_areas_of_many_classes_differ(crowd):
    points = plot.partition(crowd).collections[1:]
    looks = {(tuple(group.get_facecolor()[0]), group.get_paths()[0].vertices.tobytes()) for group in points}
    assert len(points) == len(looks) == 20
    bars = plot.split_frequencies(crowd).patches
    assert len({(bar.get_facecolor(), bar.get_hatch()) for bar in bars}) == 19
    ax = plot.surface(crowd)
    keys = {key.get_facecolor()[:3] for key in ax.get_legend().get_patches()}
    assert len(keys) == 20
    assert {tuple(pixel) for pixel in np.asarray(ax.images[0].get_array())[..., :3].reshape(-1, 3)} <= keys


def test_curves_of_many_classes_differ():
    x = np.arange(100.0)
    X = pd.DataFrame({"x": x, "half": np.where(x % 2, "odd", "even")})
    model = TreedGPClassifier(**SETTINGS | {"draws": 10, "tune": 10, "chains": 1}).fit(X, np.repeat(np.arange(10), 10))
    for draw, column in ((plot.slice, "x"), (plot.slice, "half"), (plot.projection, "x"), (plot.latent, "x")):
        ax = draw(model, column=column)
        curves = {(curve.get_color(), curve.get_linestyle(), curve.get_marker()) for curve in ax.lines}
        assert len(curves) == 10
        keys = ax.get_legend().get_lines()
        assert {(key.get_color(), key.get_linestyle(), key.get_marker()) for key in keys} == curves


def test_projection_is_the_average_over_rows(plane):
    x, average = plot.projection(plane, column=0).lines[0].get_data()
    X = Fitted.of(plane).X.copy()
    X[:, 0] = x[7]
    assert average[7] == pytest.approx(plane.predict(X).mean())


def test_latent_shows_each_class_and_the_base(classes, plane):
    ax = plot.latent(classes, column="temperature", at={"species": "fern"})
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["survives", "thrives", "wilts (base)"]
    x, latent = ax.lines[0].get_data()
    fitted = Fitted.of(classes)
    rows = np.repeat(fitted.typical({"species": "fern"})[None], len(x), axis=0)
    rows[:, 0] = x
    assert latent == pytest.approx(classes.posterior_.predictor.latent_moments(rows)[0][0])
    low, high = classes.posterior_.predictor.latent_quantiles(rows, np.array([0.05, 0.95]))[0].T
    assert ax.collections[0].get_paths()[0].vertices[1 : len(x) + 1, 1] == pytest.approx(low)
    assert (low < latent).all()
    assert (latent < high).all()
    with pytest.raises(ConfigError, match="latent needs a classifier"):
        plot.latent(plane)


@pytest.mark.parametrize("options", [{}, {"leaf": "constant"}, {"tree": False}, {"tree_sharing": "shared"}])
def test_pictures_of_two_classes_show_the_predictions(options):
    data = datasets.make_exp2d_classes(60, random_state=0)
    model = TreedGPClassifier(**SETTINGS | {"draws": 20} | options).fit(data.X, data.y)
    share = np.asarray(plot.surface(model, target=0).images[0].get_array())
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    expected = model.predict_proba(np.array([low, high]))[:, 0]
    assert [share[0, 0], share[-1, -1]] == pytest.approx(expected)
    for draw in (plot.partition, plot.tree, plot.slice, plot.calibration, plot.split_frequencies):
        draw(model).figure.draw_without_rendering()
    if options.get("leaf") == "constant":
        with pytest.raises(ConfigError, match="got leaf='constant', which has none"):
            plot.latent(model)
    else:
        assert len(plot.latent(model).lines) == 2


# --- chains, frequencies, calibration ---


@pytest.mark.parametrize("quantity", ["log_posterior", "n_leaves", "f(probe 2)"])
def test_trace_has_a_line_for_each_chain(plane, quantity):
    posterior = plane.posterior_
    expected = {"log_posterior": posterior.log_posterior, "n_leaves": posterior.n_leaves}
    values = expected.get(quantity, posterior.probe_traces["f(probe 2)"])
    lines = plot.trace(plane, quantity=quantity).lines[:2]
    for shown, chain in zip(lines, values, strict=True):
        assert shown.get_ydata() == pytest.approx(chain, abs=0.05)
    with pytest.raises(ConfigError, match="quantity must be one of log_posterior"):
        plot.trace(plane, quantity="sigma")


def test_a_trace_of_integers_stands_at_integers(plane):
    short = TreedGPRegressor(leaf="constant", **SETTINGS).fit(np.arange(8.0)[:, None], np.arange(8))  # too few to split
    for model in (plane, short):
        ax, values = plot.trace(model, quantity="n_leaves"), model.posterior_.n_leaves
        low, high = ax.get_ylim()
        assert low <= values.min() - 0.5 < values.max() + 0.5 <= high
        shown = [tick for tick in ax.get_yticks() if low <= tick <= high]
        assert shown
        assert all(tick == round(tick) for tick in shown)


def test_traces_of_classes_are_watched_by_class(classes):
    for quantity in ("n_leaves[survives]", "p(probe 1, thrives)"):
        shown = plot.trace(classes, quantity=quantity).lines[1].get_ydata()
        assert shown == pytest.approx(classes.posterior_.watched[quantity][1], abs=0.05)


def test_split_frequencies_are_those_of_the_posterior_in_falling_order(mixed):
    ax = plot.split_frequencies(mixed)
    widths = [bar.get_width() for bar in ax.patches]
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert widths == sorted(widths, reverse=True)
    assert dict(zip(names, widths, strict=True)) == pytest.approx(mixed.posterior_.split_frequencies().to_dict())


def test_split_frequencies_say_how_many_columns_are_not_shown(mixed, monkeypatch):
    assert plot.split_frequencies(mixed).get_xlabel() == "share of draws that split on it"
    for shown, more in ((2, "\n(1 more column)"), (1, "\n(2 more columns)")):
        monkeypatch.setattr("treedgp.plot.frequencies.SHOWN", shown)
        assert plot.split_frequencies(mixed).get_xlabel() == f"share of draws that split on it{more}"


def test_split_frequencies_of_classes_stand_side_by_side(classes, steps):
    assert len(plot.split_frequencies(classes).patches) == 2 * 4
    assert len(plot.split_frequencies(classes, target="survives").patches) == 4
    assert len(plot.split_frequencies(steps).patches) == 1
    with pytest.raises(ConfigError, match="target must be one of 'survives', 'thrives'"):
        plot.split_frequencies(classes, target="wilts")


@pytest.mark.parametrize("name", ["split_frequencies", "tree", "partition"])
def test_a_shared_tree_is_that_of_each_class_but_the_base(steps, plane, name):
    function = getattr(plot, name)
    assert texts(function(steps, target=0)) == texts(function(steps, target=1)) == texts(function(steps))
    for model, target in ((steps, 2), (steps, "0"), (plane, 0)):
        with pytest.raises(ConfigError, match="target"):
            function(model, target=target)


def test_an_empty_text_is_a_class_like_any_other(plants):
    labels = np.where(plants.y == "survives", "", plants.y)
    model = TreedGPClassifier(**SETTINGS | {"draws": 20}).fit(plants.X, labels)
    assert model.posterior_.tree_targets == ("", "thrives")
    assert list(model.posterior_.summary().index[1:3]) == ["n_leaves[]", "n_leaves[thrives]"]
    for name in ("tree", "partition", "split_frequencies"):
        getattr(plot, name)(model).figure.draw_without_rendering()
    assert texts(plot.tree(model)) == texts(plot.tree(model, target=""))
    assert len(plot.split_frequencies(model, target="").patches) == 4
    legend = plot.split_frequencies(model).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["''", "thrives"]


def test_coverage_is_the_share_of_rows_within_the_interval(line):
    fitted = Fitted.of(line)
    X = pd.DataFrame(fitted.X, columns=fitted.names)
    low, high = line.predict_interval(X, 0.5).T
    inside = ((fitted.y >= low) & (fitted.y <= high)).mean()
    for ax in (plot.calibration(line), plot.calibration(line, X=X, y=fitted.y)):
        levels, observed = ax.lines[1].get_data()
        assert observed[np.argmin(np.abs(levels - 0.5))] == pytest.approx(inside)
        assert observed[-1] == 1
    with pytest.raises(ConfigError, match="both X and y"):
        plot.calibration(line, X=fitted.X)
    with pytest.raises(DataError, match="for each of the 133 rows of X, got 5"):
        plot.calibration(line, X=X, y=fitted.y[:5])


def test_reliability_compares_probabilities_with_shares(classes, plants):
    said, seen, rows = binned(np.array([0.02, 0.04, 0.5, 1.0]), np.array([True, False, True, True]))
    assert said == pytest.approx([0.03, 0.5, 1.0])
    assert seen.tolist() == [0.5, 1.0, 1.0]
    assert rows.tolist() == [2, 1, 1]
    shown = Fitted.of(classes).probabilities(Fitted.of(classes).X)[:, 0]
    assert shown == pytest.approx(classes.predict_proba(plants.X)[:, 0], abs=0.01)  # fewer nodes, no visible difference
    for ax in (plot.calibration(classes), plot.calibration(classes, X=plants.X, y=plants.y.tolist())):
        assert len(ax.lines) == 1 + 3
        assert ax.lines[1].get_ydata() == pytest.approx(binned(shown, plants.y == "survives")[1])


def test_reliability_needs_labels_of_the_fit_one_for_each_row(classes, steps, plants):
    for model, y, message in (
        (classes, np.where(plants.y == "wilts", "dies", plants.y), "'survives', 'thrives', 'wilts', got 'dies'"),
        (classes, np.zeros(150), "'wilts', got 0.0"),
        (steps, Fitted.of(steps).y.astype(int).astype(str), "0, 1, 2, got '0'"),
        (classes, plants.y[:5], "for each of the 150 rows of X, got 5"),
        (classes, np.column_stack([plants.y, plants.y]), "Expected one value of y for each row of X"),
    ):
        X = plants.X if model is classes else Fitted.of(model).X
        with pytest.raises(DataError, match=message):
            plot.calibration(model, X=X, y=y)


def test_reliability_of_many_classes_shows_the_commonest():
    x, y = np.arange(200.0), np.repeat(np.arange(20), 10)
    y[:5] = 19  # class 0 is the rarest
    model = TreedGPClassifier(leaf="constant", **SETTINGS | {"draws": 20, "tune": 20}).fit(x[:, None], y)
    ax = plot.calibration(model)
    assert [line.get_label() for line in ax.lines[1:]] == ["1", "2", "3", "4", "5", "6", "19"]
    assert len({line.get_color() for line in ax.lines[1:]}) == len(COLOURS)
    assert ax.get_xlabel().endswith("(of the 7 commonest of 20 classes)")


def test_long_names_stay_in_the_figure(plants):
    X = plants.X.rename(columns=lambda name: f"what was measured of the plant, here the {name}")
    model = TreedGPClassifier(leaf="constant", **SETTINGS | {"draws": 20, "tune": 20})
    model.fit(X, np.char.add("the plant in this pot ", plants.y.astype(str)))
    for draw in (plot.calibration, plot.partition, plot.slice, plot.tree):
        ax = draw(model)
        ax.figure.draw_without_rendering()
        for part in (ax.get_legend(), ax.xaxis.label, ax.yaxis.label):
            box, room = part.get_window_extent(), ax.figure.bbox
            assert room.x0 <= box.x0 <= box.x1 <= room.x1
            assert room.y0 <= box.y0 <= box.y1 <= room.y1
