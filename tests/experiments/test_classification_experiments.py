"""Step, exp2d and credit: what they fit, what they write, and on the real data what they find."""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from treedgp import TreedGPClassifier
from treedgp.datasets import make_exp2d_classes
from treedgp.datasets.credit import LEVELS
from treedgp.errors import DataError
from treedgp.experiments import Settings, classify, credit, exp2d, peers, reproduce, step
from treedgp.experiments.job import RunLength
from treedgp.posterior.trees import Leaf, Split

QUICK = {"n_jobs": 1, "progressbar": False}
DATA = Path(__file__).parents[2].parent / "shared" / "data"  # not part of the project


@pytest.fixture
def short(monkeypatch):
    """Chains that show nothing but that everything is there."""
    for experiment in (step, exp2d, credit):
        monkeypatch.setattr(experiment, "length", lambda settings: RunLength(20, 10, 1, 1))


def shared(name):
    if not (DATA / name).exists():
        pytest.skip(f"needs {name} in ../shared/data, beside the project")
    return DATA / name


@pytest.fixture(scope="module")
def crx(tmp_path_factory):
    """Sixty made-up applications in the format of crx.data; approved mostly where A9 = t."""
    rng = np.random.default_rng(0)
    columns = {}
    for j in range(1, 16):
        name = f"A{j}"
        levels = LEVELS[name].split() if name in LEVELS else None
        columns[name] = rng.choice(levels, 60) if levels else rng.integers(0, 50, 60).astype(str)
    frame = pd.DataFrame(columns)
    frame.loc[3, "A2"] = frame.loc[4, "A1"] = frame.loc[5, "A14"] = "?"
    frame["class"] = np.where((frame["A9"] == "t") ^ (rng.random(60) < 0.1), "+", "-")
    path = tmp_path_factory.mktemp("credit") / "crx.data"
    frame.to_csv(path, header=False, index=False)
    return path


@pytest.fixture(scope="module")
def design(tmp_path_factory):
    data = make_exp2d_classes(60, random_state=0)
    path = tmp_path_factory.mktemp("exp2d") / "design.csv"
    pd.DataFrame(data.X, columns=["x1", "x2"]).assign(label=data.y).to_csv(path, index=False)
    return path


def test_ours_is_the_class_with_its_own_defaults():
    length = RunLength(1, 2, 3, 4)
    paper, ours = (classify.make(name, length, 1, input_scaling="quantile") for name in ("ctgp", "ctgp_ours"))
    run = {"tune": 1, "draws": 2, "thin": 3, "chains": 4, "random_state": 1, "progressbar": False}
    assert isinstance(ours, TreedGPClassifier)
    assert ours.get_params() == TreedGPClassifier(input_scaling="quantile", **run).get_params()
    assert paper.priors.noise.rates is None
    assert paper.input_scaling == "quantile"
    assert [classify.make(name, length, 1).tree for name in classify.MODELS] == [False, True, False, True]


def test_scores_are_the_usual_ones():
    X = np.linspace(-1, 1, 40)[:, None]
    y = np.where(X[:, 0] + 0.3 * np.sin(20 * X[:, 0]) > 0, "+", "-")
    model = LogisticRegression()
    scores = classify.fit_and_score(model, X, y, X, y)
    assert scores["error"] == pytest.approx(100 * np.mean(model.predict(X) != y))
    assert scores["brier"] == pytest.approx(brier_score_loss(y == "-", model.predict_proba(X)[:, 1]))
    assert scores["log_loss"] == pytest.approx(
        -np.mean(np.log(model.predict_proba(X)[np.arange(40), (y == "-").astype(int)]))
    )


def test_splits_are_counted_where_the_paper_has_them():
    splits = pd.Series([-0.68, -0.7, 0.2])
    assert step.split_text(splits, -0.712, -0.644) == "-0.680 (2 of 3)"
    assert step.split_text(pd.Series([np.nan, np.nan]), -0.712, -0.644) == "-"


def test_step(tmp_path):
    result = reproduce("step", tmp_path, Settings(quick=True), **QUICK)
    rows = result.rows.set_index("model")
    assert list(rows.index) == list(classify.MODELS)
    assert (rows["error"] == 0).all()
    assert (rows["log_loss"] < 0.3).all()
    assert rows.loc[["cgp", "cgp_ours"], ["split_0", "split_1", "share_0", "share_1"]].isna().all(axis=None)
    assert rows.loc[["ctgp", "ctgp_ours"], ["share_0", "share_1"]].ge(0).all(axis=None)
    assert rows.loc["ctgp", ["share_0", "share_1"]].gt(50).all()
    assert "Class 1: 2 leaves, height 2, log posterior" in result.report
    split = r"\S+ \([01] of 1\)"
    assert re.search(
        rf"\| CTGP, paper's priors \| 0.0 \| 0.\d+ \| {split} \| {split} \| \d+, \d+ \| 24.2 \|", result.report
    )
    assert "between the points -0.712 and -0.644 and 0.644 and 0.712" in result.report
    assert {path.name for path in result.files} == {"step.md", "step.csv", "step-labels.png", "step-latents.png"}


def test_step_figures_outlive_the_run(tmp_path, monkeypatch, short):
    first = reproduce("step", tmp_path, Settings(quick=True), **QUICK)
    monkeypatch.setattr(classify, "preset", None)  # nothing may be fitted again
    (tmp_path / "step-latents.png").unlink()
    again = reproduce("step", tmp_path, Settings(quick=True), **QUICK)
    assert again.report == first.report
    assert (tmp_path / "step-latents.png").exists()


def test_rows_without_the_folder_beside_them_are_shown_again(tmp_path, short):
    """The first repetition alone is computed again: the others are not shown."""
    first = reproduce("step", tmp_path, Settings(quick=True, repetitions=2), **QUICK)
    before = (tmp_path / "step.csv").read_text().splitlines()
    shutil.rmtree(tmp_path / "step-parts")
    again = reproduce("step", tmp_path, Settings(quick=True, repetitions=2), models=["cgp"], **QUICK)
    scores = ["model", "repetition", "error", "log_loss"]
    pd.testing.assert_frame_equal(again.rows[scores], first.rows[scores])
    after = (tmp_path / "step.csv").read_text().splitlines()
    assert len(after) == len(before)
    kept = {line for line in before if ",2," in line}
    assert kept <= set(after)


def test_exp2d(tmp_path, design, short):
    result = reproduce("exp2d", tmp_path, Settings(quick=True, data=design), **QUICK)
    rows = result.rows.set_index("model")
    assert list(rows.index) == list(exp2d.ALL)
    assert (rows.loc[["gpc_ard", "gpc", "forest", "rpart"], "error"] < 12).all()
    assert (rows.loc[list(classify.MODELS), "error"] < 25).all()  # the share of class 0
    assert "| CTGP, paper's priors | 1.7 | 2.0 h |" in result.report
    assert "the design `design.csv`" in result.report
    assert {path.name for path in result.files} == {"exp2d.md", "exp2d.csv", "exp2d.png"}


def test_the_design_and_its_test_points_share_no_point(design):
    loaded = exp2d.load_design(design, 1)
    assert (len(loaded.X), len(loaded.test_X)) == (60, 9940)
    assert pd.concat([loaded.X, loaded.test_X]).round(6).duplicated().sum() == 0
    assert loaded.digest != exp2d.load_design(design, 4).digest


def test_a_file_that_is_no_design_is_told(tmp_path):
    (tmp_path / "wrong.csv").write_text("a,b\n1,2\n")
    (tmp_path / "labels.csv").write_text("x1,x2,label\n1,2,5\n1,3,7\n")
    for name in ("wrong.csv", "labels.csv", "absent.csv"):
        with pytest.raises(DataError, match=r"columns x1, x2 and label .*without --data"):
            exp2d.load_design(tmp_path / name, 1)


def test_regions_of_a_tree():
    tree = Split("x1", 2.0, None, "2", Split("x2", 0.0, None, "0", Leaf(1), Leaf(2)), Leaf(3))
    assert exp2d.regions(tree, exp2d.BOX) == [(-2, 2, -2, 0), (-2, 2, 0, 6), (2, 6, -2, 6)]


def test_credit(tmp_path, crx, short):
    result = reproduce("credit", tmp_path, Settings(quick=True, repetitions=2, data=crx), **QUICK)
    assert result.rows.groupby("model").size().to_dict() == dict.fromkeys(credit.ALL, 2)
    assert (result.rows.groupby("model")["error"].mean()["rpart"]) < 40
    assert "| CTGP, paper's priors | 14.2 (3.6) | 1.62 h |" in result.report
    assert "## MAP trees by height, fold 1: CTGP, our defaults" in result.report
    assert "Share of draws that split on a column: " in result.report


def test_the_peers_design_is_learned(tmp_path):
    """The design that the peers' figures are for; the test rows are every fourth of the others."""
    settings = Settings(quick=True, data=shared("exp2d_train_dopt.csv"))
    rows = reproduce("exp2d", tmp_path, settings, models=["ctgp_ours"], **QUICK).rows
    assert rows["error"].item() < 3.3  # the paper's CGP
    assert rows["log_loss"].item() < 0.1


def test_the_credit_data_are_learned(tmp_path):
    settings = Settings(quick=True, repetitions=1, data=shared("crx.data"))
    result = reproduce("credit", tmp_path, settings, models=["ctgp_ours"], **QUICK)
    assert result.rows["error"].item() < 25
    assert result.rows["log_loss"].item() < 0.6
    assert "A9" in result.report.partition("split on a column: ")[2]  # the paper's principal split


def test_a_design_of_the_package_is_used_without_a_file(tmp_path, short):
    result = reproduce("exp2d", tmp_path, Settings(quick=True), models=["ctgp"], **QUICK)
    assert "Trained on a maximum-entropy design of the package" in result.report


def test_the_47_columns_are_numbered_as_in_the_paper(crx):
    X, _ = credit.load(crx)
    columns = list(credit.with_bits(X).columns)
    assert len(columns) == 47
    assert (columns[38], columns[45]) == ("A9=t", "A13=p")
    assert columns[:6] == ["A2", "A3", "A8", "A11", "A14", "A15"]


def test_folds_cover_every_row_and_learn_medians_from_training_rows(crx):
    X, y = credit.load(crx)
    tests = [credit.split(X, y, fold)[1] for fold in range(1, 11)]
    assert sorted(np.concatenate(tests)) == list(range(60))
    assert not np.array_equal(tests[0], credit.split(X, y, 11)[1])
    train, _, frame = credit.split(X, y, 1)
    assert frame.loc[3, "A2"] == X["A2"].iloc[train].median()
    assert pd.isna(frame.loc[4, "A1"])


def test_the_peers_of_credit_are_the_papers_and_more():
    assert set(credit.PEERS) == {"nnet", "rpart", "forest", "hist_gb", "gpc", "logistic"}
    assert peers.peer_version().startswith("scikit-learn=")
