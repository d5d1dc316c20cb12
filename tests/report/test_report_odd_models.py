"""Models at the edge of what there is to show still have a report."""

import warnings

import numpy as np
import pandas as pd
import pytest

from treedgp import TreedGPClassifier, TreedGPRegressor
from treedgp.report import short_form

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
N = 40
COLUMNS = {
    "x": np.linspace(-1e-9, 1e-9, N),
    "same": np.full(N, 3.0),
    "kind": np.array(["a", "b", "ü – 漢"])[np.arange(N) % 3],
}
MODELS = {
    "only a constant and a number": ({"leaf": "linear"}, ["x", "same"]),
    "only levels": ({"leaf": "constant"}, ["kind"]),
    "nothing to split on": ({"leaf": "linear", "split_features": []}, ["x", "kind"]),
    "a column only in the leaves": ({"leaf": "linear", "split_features": ["kind"]}, ["x", "kind"]),
    "one chain, few draws": ({"leaf": "constant", "draws": 3, "chains": 1}, ["x"]),
    "a response that never changes": ({"leaf": "constant"}, ["x", "kind"]),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_odd_model_has_a_report_and_a_short_form(name, tmp_path):
    settings, columns = MODELS[name]
    X = pd.DataFrame({column: COLUMNS[column] for column in columns})
    y = np.zeros(N) if "never changes" in name else np.arange(N) % 3 + np.linspace(0, 1, N)
    model = TreedGPRegressor(**{"draws": 30, "tune": 30, "chains": 2, "random_state": 0} | settings).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of matplotlib about limits, layout and letters it lacks
        page = model.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<section") == (7 if name == "nothing to split on" else 9)
    assert f"{N} rows" in short_form(model)
    assert "(0%)" not in short_form(model)
    assert "split on ." not in short_form(model)


@pytest.mark.parametrize(
    "settings", [{"leaf": "constant"}, {"tree": False}, {"tree_sharing": "shared"}, {"chains": 1, "draws": 3}], ids=str
)
@pytest.mark.parametrize("columns", [["kind"], ["x", "kind"]], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_an_odd_classifier_has_a_report(settings, columns, classes, tmp_path):
    X = pd.DataFrame({column: COLUMNS[column] for column in columns})
    model = TreedGPClassifier(**{"draws": 30, "tune": 30, "chains": 2, "random_state": 0} | settings)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "No numeric leaf column")
        model.fit(X, np.arange(N) // 5 % classes)
        page = model.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<section") == (7 if settings.get("tree") is False else 9)
    assert f"one of {classes} classes: 0 (" in short_form(model)
