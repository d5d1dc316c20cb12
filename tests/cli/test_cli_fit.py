"""Fitting from tables: what is said, what is saved, what a machine reads."""

import csv
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from cli_tables import wave

import treedgp

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")


def test_it_says_what_it_does_and_saves_what_the_library_would(folder, fit):
    result = fit("wave.csv", "--target", "y", "--seed", 3)
    assert result.exit_code == 0
    assert "60 rows" in result.stdout
    assert "2 numeric: x, size" in result.stdout
    assert "1 categorical: kind (2 levels)" in result.stdout
    assert "Task:   regression, 'y' is numeric with 60 different values" in result.stdout
    assert "2 chains of 100 rounds" in result.stdout
    data = pd.read_csv("wave.csv")  # the numbers of the file, to the last bit
    expected = treedgp.TreedGPRegressor(draws=50, tune=50, chains=2, random_state=3).fit(
        data[["x", "kind", "size"]], data["y"]
    )
    saved = treedgp.load("model.npz")
    assert np.array_equal(saved.posterior_.log_posterior, expected.posterior_.log_posterior)


def test_every_line_fits_into_80_columns(folder, fit):
    names = {"x": "a long name of a column which goes on and on " * 2, "kind": "kind [of] thing"}
    wave().rename(columns=names).to_csv("wide.csv", index=False)
    result = fit("wide.csv", "--target", "y")
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "kind [of] thing" in result.stdout  # no markup


def test_json_is_one_object_with_everything(folder, fit):
    result = fit("wave.csv", "--target", "y", "--json", "-o", "a.npz")
    found = json.loads(result.stdout)
    assert found["model"] == "a.npz"
    assert found["task"] == "regression"
    assert found["interrupted"] is False
    assert (found["chains"], found["draws"], found["rows"]) == (2, 50, 60)
    assert found["numeric"] == ["x", "size"]
    assert found["categorical"] == ["kind"]
    assert set(found["split_frequencies"]) == {"x", "kind", "size"}
    assert {row["name"] for row in found["summary"]} >= {"log_posterior", "n_leaves"}
    assert {finding["level"] for finding in found["health"]} <= {"info", "warning"}


def test_settings_and_presets_reach_the_model(folder, fit):
    result = fit("wave.csv", "--target", "y", "--leaf", "linear", "--no-tree", "--thin", 2, "-o", "a.npz")
    assert result.exit_code == 0
    model = treedgp.load("a.npz")
    assert (model.leaf, model.tree, model.thin) == ("linear", False, 2)
    fit("wave.csv", "--target", "y", "--preset", "bcart", "-o", "b.npz")
    model = treedgp.load("b.npz")
    assert (model.leaf, model.thin, model.draws) == ("constant", 2, 50)
    assert model.priors_.coefficients.kind == "flat"


def test_ignored_and_categorical_columns(folder, fit):
    data = wave().assign(code=np.arange(60) % 3)
    data.to_csv("coded.csv", index=False)
    result = fit("coded.csv", "--target", "y", "--ignore", "size", "--ignore", "x", "--categorical", "code")
    assert "2 categorical: kind (2 levels), code (3 levels)" in result.stdout
    assert list(treedgp.load("model.npz").feature_names_in_) == ["kind", "code"]


def test_rows_that_lack_a_number_are_dropped_if_asked(folder, fit):
    data = wave()
    data.loc[[3, 7], "x"] = np.nan
    data.loc[9, "kind"] = None  # a level of its own
    data.to_csv("holes.csv", index=False)
    result = fit("holes.csv", "--target", "y", "--drop-missing")
    assert "58 rows, 2 with missing values left out" in result.stdout
    assert "kind (3 levels)" in result.stdout


def test_missing_numbers_are_words_among_text(folder, fit, run):
    words = np.array(["None", "NA", "null"])[np.arange(60) % 3]
    data = wave().assign(y=np.where(np.arange(60) < 30, words, "yes"), kind=np.roll(words, 1))
    data.loc[0, "kind"] = "red"  # or there would be no text
    data.loc[4, "kind"] = ""
    data["x"] = np.where(np.arange(60) == 7, "NA", data["x"].astype(str))
    data.to_csv("words.csv", index=False)
    result = fit("words.csv", "--target", "y", "--drop-missing", "--leaf", "constant")
    assert "59 rows, 1 with missing values left out" in result.stdout
    assert "2 numeric: x, size" in result.stdout
    assert "kind (5 levels)" in result.stdout
    assert treedgp.load("model.npz").classes_.tolist() == ["NA", "None", "null", "yes"]
    wave().assign(kind="NA").to_csv("new.csv", index=False)
    result = run("predict", "model.npz", "new.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("label,p_NA,p_None,p_null,p_yes\n")


def test_separators_in_quoted_names_do_not_count(folder, fit):
    wave().to_csv(
        "wave.csv", index=False, header=["x", "kind", '"size; of; it; all; in; m"', "y"], quoting=csv.QUOTE_NONE
    )
    result = fit("wave.csv", "--target", "y")
    assert "2 numeric: x, size; of; it; all; in; m" in result.stdout


def test_names_may_have_line_breaks_in_quotes(folder, fit, run):
    broken = wave().rename(columns={"x": 'width; "all"\n\n(mm)', "size": "size, in\nm"})
    broken.iloc[[3], 0] = np.nan
    broken.to_csv("broken.csv", index=False, na_rep="NA")
    result = fit("broken.csv", "--target", "y", "--drop-missing")
    assert "59 rows, 1 with missing values left out" in result.stdout
    assert "2 numeric" in result.stdout
    assert "1 categorical: kind (2 levels)" in result.stdout
    result = fit("broken.csv", "--target", "y")
    assert (result.exit_code, "lacks 1 of 60 values (data rows 4)" in " ".join(result.stderr.split())) == (2, True)
    result = run("predict", "model.npz", "broken.csv")
    assert (result.exit_code, "lacks 1 of 60 values (data rows 4)" in " ".join(result.stderr.split())) == (2, True)
    broken.drop(index=3).to_csv("new.tsv", index=False, sep="\t")
    result = run("predict", "model.npz", "new.tsv")
    assert (result.exit_code, result.stderr, len(result.stdout.splitlines())) == (0, "", 60)


@pytest.mark.parametrize(("name", "separator"), [("a.tsv", "\t"), ("a.csv", ";"), ("a.csv", "\t")])
def test_other_separators_give_the_same_model(folder, fit, name, separator):
    wave().to_csv(name, index=False, sep=separator)
    assert fit(name, "--target", "y", "-o", "other.npz").exit_code == 0
    fit("wave.csv", "--target", "y")
    traces = [treedgp.load(path).posterior_.log_posterior for path in ("other.npz", "model.npz")]
    assert np.array_equal(*traces)


def test_parquet_gives_the_same_model(folder, fit):
    pytest.importorskip("pyarrow")
    pd.read_csv("wave.csv").to_parquet("wave.parquet")
    assert fit("wave.parquet", "--target", "y", "-o", "other.npz").exit_code == 0
    fit("wave.csv", "--target", "y")
    traces = [treedgp.load(path).posterior_.log_posterior for path in ("other.npz", "model.npz")]
    assert np.array_equal(*traces)


def test_decimals_of_parquet_are_numbers(folder, fit):
    pytest.importorskip("pyarrow")
    data = wave()
    data["x"] = [None, *map(Decimal, data["x"].astype(str)[1:])]
    data["y"] = [Decimal(str(value)) for value in data["y"].round(4)]
    data.to_parquet("money.parquet")
    result = fit("money.parquet", "--target", "y", "--drop-missing")
    assert "59 rows, 1 with missing values left out" in result.stdout
    assert "2 numeric: x, size" in result.stdout
    assert "regression, 'y' is numeric with 59 different values" in result.stdout


def test_a_byte_order_mark_is_no_part_of_a_name(folder, fit):
    wave()[["y", "x"]].to_csv("excel.csv", index=False, encoding="utf-8-sig")
    assert fit("excel.csv", "--target", "y").exit_code == 0


def test_blank_lines_above_the_names_are_skipped(folder, fit):
    (folder / "blank.csv").write_text("\n  \n\n" + (folder / "wave.csv").read_text())
    assert fit("blank.csv", "--target", "y").exit_code == 0


def test_one_is_no_plural(folder, run):
    wave().assign(kind="red").to_csv("red.csv", index=False)
    said = run("fit", "red.csv", "--target", "y", "--draws", 1, "--tune", 0, "--chains", 1).stdout
    assert all(words in said for words in ("kind (1 level)", "1 chain of 1 round, 1 draw each", "1 chain, 1 draw each"))
    wave().iloc[:1].to_csv("one.csv", index=False)
    assert "Wrote 1 row of" in run("predict", "model.npz", "one.csv", "-o", "out.csv").stdout


def test_a_target_of_text_is_classified(folder, fit, run):
    result = fit("wave.csv", "--target", "kind")
    assert result.exit_code == 0
    assert "Task:   classification, 'kind' is text with 2 values" in result.stdout
    assert "The most probable tree of class blue:" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    model = treedgp.load("model.npz")
    assert isinstance(model, treedgp.TreedGPClassifier)
    assert run("predict", "model.npz", "wave.csv", "-o", "out.csv").exit_code == 0
    out, data = pd.read_csv("out.csv"), pd.read_csv("wave.csv")
    assert list(out.columns) == ["label", "p_blue", "p_red"]
    X = data.drop(columns="kind")
    assert out[["p_blue", "p_red"]].to_numpy() == pytest.approx(model.predict_proba(X), rel=1e-12)
    assert (out["label"] == model.predict(X)).all()
    assert (out["label"] == data["kind"]).mean() > 0.8
    found = json.loads(run("predict", "model.npz", "wave.csv", "--json").stdout)
    assert (found["task"], set(found["predictions"][0])) == ("classification", {"label", "p_blue", "p_red"})
    result = run("predict", "model.npz", "wave.csv", "--level", 2)
    assert result.exit_code == 2
    assert "Expected no --level for a classification" in " ".join(result.stderr.split())


def test_trees_are_told_by_class(folder, fit):
    wave().assign(kind=np.arange(60) // 20).to_csv("three.csv", index=False)
    found = json.loads(fit("three.csv", "--target", "kind", "--json").stdout)
    assert found["task"] == "classification"
    assert set(found["split_frequencies"]) == {"0", "1"}
    assert {"n_leaves[0]", "n_leaves[1]"} <= {row["name"] for row in found["summary"]}


def test_a_shared_tree_is_told_once(folder, fit):
    wave().assign(kind=np.arange(60) // 20).to_csv("three.csv", index=False)
    for options in (["--preset", "otgp"], ["--leaf", "constant"]):
        result = fit("three.csv", "--target", "kind", *options)
        assert result.stdout.count("The most probable tree:") == 1


def test_whole_numbers_with_holes_are_labels(folder, fit, run):
    """Which pandas reads as floats."""
    wave().assign(kind=np.where(np.arange(60) == 7, np.nan, np.arange(60) % 2)).to_csv("holes.csv", index=False)
    assert fit("holes.csv", "--target", "kind", "--drop-missing").exit_code == 0
    assert run("predict", "model.npz", "holes.csv").stdout.startswith("label,p_0,p_1\n")


def test_one_chain_has_nothing_to_agree_with(folder, run):
    simple = ["--leaf", "linear", "--no-tree", "--draws", 400]
    assert "\nThe chains agree.\n" in run("fit", "wave.csv", "--target", "y", *simple).stdout
    assert (
        "Agreement between chains was not checked."
        in run("fit", "wave.csv", "--target", "y", *simple, "--chains", 1).stdout
    )
