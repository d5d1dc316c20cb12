"""The report and the short form say what the model says."""

import base64
import re
import sys
import types
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import treedgp
from treedgp import ConfigError, Priors, TreedGPClassifier, TreedGPRegressor, TreePrior, datasets
from treedgp.plot.fitted import Fitted
from treedgp.report import short_form, verdict, words, write_report

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
SETTINGS = {"draws": 50, "tune": 50, "chains": 2, "random_state": 0}
SECTIONS = ["verdict", "data", "importance", "trees", "surfaces", "traces", "check", "timings", "code"]
NASTY = "<b>wide</b> & $x$"


class Page(HTMLParser):
    """Sections in order, images, text."""

    def __init__(self, text):
        super().__init__()
        self.sections, self.images, self.tags, self.text = [], [], set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        attributes = dict(attrs)
        if tag == "section":
            self.sections.append(attributes["id"])
        if tag == "img":
            self.images.append(attributes)

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def mixed():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({NASTY: rng.uniform(size=80), "v": rng.uniform(size=80), "kind": rng.choice(["a", "<i>"], 80)})
    y = 5 * (X["kind"] == "a") + X["v"] + 0.1 * rng.standard_normal(80)
    priors = Priors(tree=TreePrior(alpha=0.7))
    return TreedGPRegressor(leaf="linear", priors=priors, **SETTINGS).fit(X, y)


@pytest.fixture(scope="module")
def page(mixed, tmp_path_factory):
    path = mixed.report(tmp_path_factory.mktemp("report") / "report.html")
    return Page(path.read_text(encoding="utf-8")), path.read_text(encoding="utf-8")


def test_every_section_is_there_the_verdict_first(page):
    assert page[0].sections == SECTIONS


def test_says_what_was_fitted(mixed, page):
    text = page[0].text
    assert verdict(mixed.posterior_).title in text
    for finding in mixed.posterior_.health():
        assert str(finding) in text
    assert "80 rows and 3 input columns (1 categorical)" in text
    assert "Each region has a linear model." in text
    assert "0.7 / (1 + D)^2" in text
    assert "that of the draw with the largest log posterior." in " ".join(text.split())
    assert "may still matter within the leaves" in " ".join(text.split())
    assert {row["used by"] for row in words.column_table(Fitted.of(mixed))} == {"tree and leaves", "tree"}
    assert "2 levels: <i>, a" in text
    for tree in mixed.posterior_.map_trees().values():
        assert str(tree) in text
    for name in mixed.posterior_.timings:
        assert name in text


def test_names_of_columns_are_text_not_markup(page):
    assert NASTY in page[0].text
    assert "b" not in page[0].tags
    assert "i" not in page[0].tags


def test_needs_nothing_from_outside(page):
    assert page[0].tags.isdisjoint({"script", "iframe", "object"})
    addresses = re.findall(r"(?:src|href)=\"([^\"]*)\"", page[1])
    assert addresses
    assert all(address.startswith(("data:", "#")) for address in addresses)
    assert "url(" not in page[1]


def test_images_are_pictures_with_a_description_that_follow_the_theme(page):
    assert len(page[0].images) >= 8
    for image in page[0].images:
        assert image["alt"]
        svg = base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")).decode()
        assert any(element.tag.endswith("}text") for element in ElementTree.fromstring(svg).iter())  # of every alphabet
        assert "prefers-color-scheme:dark" in svg
        assert "var(--c0)" in svg


def test_images_are_well_formed_whatever_characters_names_have(tmp_path):
    X = pd.DataFrame({"\x00x": np.arange(40.0), "\ufffekind": ["a\x1a", "b"] * 20})
    model = TreedGPClassifier(**SETTINGS | {"draws": 5}).fit(X, np.array(["\x00a", "b", "c"])[np.arange(40) // 14])
    for image in Page(model.report(tmp_path / "r.html").read_text(encoding="utf-8")).images:
        ElementTree.fromstring(base64.b64decode(image["src"].removeprefix("data:image/svg+xml;base64,")))


def made_by(code):
    """The model as the code makes it, before its fit."""
    names: dict[str, object] = {"data": (None, None)}
    exec(code.partition("model.fit")[0].replace("X, y = ...", "X, y = data"), names)
    return names["model"]


def test_the_code_repeats_the_fit(mixed):
    code = words.code_in_words(Fitted.of(mixed))
    assert made_by(code).get_params() == mixed.get_params()
    assert "will differ" not in code


NAMES = [f"column {i}" for i in range(40)]
X40 = pd.DataFrame(np.random.default_rng(0).uniform(size=(30, 40)), columns=NAMES)


@pytest.mark.parametrize(
    "settings",
    [
        {"split_features": X40.columns[:2], "draws": np.int64(20), "leaf": np.str_("constant")},
        {"split_features": dict.fromkeys(NAMES).keys(), "random_state": np.int64(1)},
        {"split_features": pd.Series(X40.columns == "column 3"), "leaf_features": np.array(["column 1"])},
        {"priors": Priors(tree=TreePrior(alpha=np.float64(0.7), min_leaf=np.int64(5)))},
    ],
    ids=["index", "keys", "mask", "priors"],
)
def test_the_code_repeats_a_fit_whose_settings_are_of_pandas_or_numpy(settings):
    y = X40["column 3"]
    model = TreedGPRegressor(**{"leaf": "constant", **SETTINGS, **settings}).fit(X40, y)
    again = made_by(words.code_in_words(Fitted.of(model))).fit(X40, y)
    assert np.array_equal(again.posterior_.log_posterior, model.posterior_.log_posterior)


def test_the_code_runs_where_the_name_of_a_column_has_two_lines():
    X = pd.DataFrame({"of two\nlines": np.arange(30.0)})
    model = TreedGPRegressor(leaf="constant", **SETTINGS).fit(X, np.arange(30))
    assert made_by(words.code_in_words(Fitted.of(model))).get_params() == model.get_params()


@pytest.mark.parametrize("random_state", [None, np.random.default_rng(0)])
def test_the_code_says_when_it_cannot_repeat_the_draws(random_state):
    model = TreedGPRegressor(
        leaf="constant", split_features=np.array([0]), random_state=random_state, draws=20, tune=20, chains=1
    )
    code = words.code_in_words(Fitted.of(model.fit(np.arange(30.0)[:, None], np.arange(30))))
    assert "the draws will differ" in code
    assert made_by(code).split_features == [0]


def test_code_and_settings_show_the_draws_there_are():
    X, y = np.arange(30.0)[:, None], np.arange(30.0)
    model = TreedGPRegressor(leaf="constant", draws=20, tune=20, chains=1, random_state=0).fit(X, y).extend(15)
    assert made_by(words.code_in_words(Fitted.of(model))).get_params() == {**model.get_params(), "draws": 35}
    assert words.settings(Fitted.of(model))["draws"] == "35"
    assert model.draws == 20


def test_a_model_without_a_tree_has_no_sections_about_trees(tmp_path):
    data = datasets.load_motorcycle()
    model = TreedGPRegressor(tree=False, **SETTINGS).fit(data.X, data.y)
    page = Page(write_report(model, tmp_path / "r.html").read_text(encoding="utf-8"))
    assert page.sections == [name for name in SECTIONS if name not in ("importance", "trees")]
    assert "There is no tree" in page.text


def test_a_loaded_model_is_reported_alike(mixed, tmp_path):
    mixed.save(tmp_path / "model.npz")
    page = Page(treedgp.load(tmp_path / "model.npz").report(tmp_path / "r.html").read_text(encoding="utf-8"))
    assert page.sections == SECTIONS
    assert verdict(mixed.posterior_).text in page.text


def test_a_classifier_has_trees_by_class_and_latents(tmp_path):
    data = datasets.make_mixed_classes(120, random_state=1)
    model = TreedGPClassifier(**SETTINGS).fit(data.X, data.y)
    page = Page(model.report(tmp_path / "r.html").read_text(encoding="utf-8"))
    assert page.sections == SECTIONS
    assert "one of 3 classes: survives" in page.text
    captions = [image["alt"] for image in page.images]
    for label in model.classes_[:-1]:
        assert any(alt.startswith(f"Tree: class {label}") for alt in captions)
        for tree in model.posterior_.map_trees(label).values():
            assert str(tree) in page.text
    assert "Each class but the base has a random tree" in page.text
    assert "most probable tree of each height: the one in most draws." in page.text
    assert "down to a constant (one process for each class but the base)" in page.text
    assert "p(probe i, class)" in page.text
    assert verdict(model.posterior_).title in short_form(model)
    assert "Latents by class, with bands; the base class is at 0" in captions
    assert any(alt.startswith("Reliability") for alt in captions)


@pytest.mark.parametrize("estimator", [TreedGPRegressor, TreedGPClassifier])
def test_constant_leaves_use_no_column(estimator, tmp_path):
    model = estimator(leaf="constant", **SETTINGS).fit(np.arange(40.0)[:, None], np.arange(40) // 20)
    page = Page(model.report(tmp_path / "r.html").read_text(encoding="utf-8"))
    assert [row["used by"] for row in words.column_table(Fitted.of(model))] == ["tree"]
    assert "within the leaves" not in " ".join(page.text.split())
    assert "that of the draw with the largest log posterior." in " ".join(page.text.split())


def test_a_model_without_proposals_has_a_report(tmp_path):
    model = TreedGPClassifier(leaf="constant", tree=False, **SETTINGS)
    model.fit(np.arange(40.0)[:, None], np.arange(40) // 20)
    page = Page(model.report(tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "Timings" in page.text
    assert "Proposals" not in page.text


def test_trees_of_many_classes_are_not_all_shown_and_that_is_said(tmp_path):
    model = TreedGPClassifier(**SETTINGS | {"draws": 10, "tune": 10}).fit(np.arange(60.0)[:, None], np.arange(60) // 10)
    page = Page(model.report(tmp_path / "r.html").read_text(encoding="utf-8"))
    shown = {image["alt"].split(", height")[0] for image in page.images if image["alt"].startswith("Tree:")}
    assert shown == {f"Tree: class {label}" for label in range(4)}
    assert "Shown are the trees of 4 of the 5 classes that have one" in " ".join(page.text.split())


def test_an_empty_text_is_a_class_with_trees(tmp_path):
    labels = np.array(["", "b", "c"])[np.arange(45) // 15]
    model = TreedGPClassifier(**SETTINGS).fit(np.arange(45.0)[:, None], labels)
    page = Page(model.report(tmp_path / "r.html").read_text(encoding="utf-8"))
    assert "one of 3 classes: '' (33%), b (33%), c (33%)." in page.text
    for tree in model.posterior_.map_trees("").values():
        assert f"Class '', height {tree.height}" in page.text
        assert str(tree) in page.text


def test_a_missing_folder_or_fit_is_told_before_drawing(mixed, tmp_path):
    with pytest.raises(ConfigError, match="folder that exists"):
        mixed.report(tmp_path / "nowhere" / "r.html")
    with pytest.raises(NotFittedError):
        TreedGPRegressor().report(tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_missing_jinja2_names_the_extra(mixed, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'treedgp\[report\]'"):
        mixed.report(tmp_path / "r.html")


# --- verdict and short form ---


def a_posterior(trace, warnings=()):
    rows = {"rhat": [1.01, np.nan], "ess_bulk": [400.0, np.nan], "ess_tail": [300.0, np.nan]}
    findings = [types.SimpleNamespace(level="warning", text=text) for text in warnings]
    return types.SimpleNamespace(log_posterior=trace, health=lambda: findings, summary=lambda: pd.DataFrame(rows))


def test_verdict_is_bad_with_a_warning_and_unchecked_with_one_chain():
    assert verdict(a_posterior(np.zeros((2, 9)), ["no"])).level == "bad"
    assert verdict(a_posterior(np.zeros((1, 9)))).level == "unchecked"
    good = verdict(a_posterior(np.zeros((2, 9))))
    assert good.level == "good"
    assert good.text == "2 chains of 9 draws, R-hat at most 1.010, at least 300 effective draws."


def test_notebooks_show_the_verdict_above_the_diagram(mixed):
    shown = mixed._repr_mimebundle_()["text/html"]
    assert shown.startswith(short_form(mixed))
    assert mixed._repr_html_().startswith(short_form(mixed))
    assert verdict(mixed.posterior_).title in shown
    assert "sk-container" in shown
    assert "&lt;b&gt;wide" in shown
    assert "<b>wide" not in short_form(mixed)


def test_an_unfitted_estimator_keeps_the_diagram_alone():
    shown = TreedGPRegressor()._repr_mimebundle_()["text/html"]
    assert "sk-container" in shown
    assert "chains of" not in shown


def test_the_short_form_needs_no_extra(mixed, monkeypatch):
    for name in ("jinja2", "matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    assert "Sampling took" in short_form(mixed)


def test_text_display_has_no_html(mixed):
    import sklearn

    with sklearn.config_context(display="text"):
        assert set(mixed._repr_mimebundle_()) == {"text/plain"}
