"""Predicting new rows from a file."""

import json

import numpy as np
import pandas as pd
import pytest
from cli_tables import wave

import treedgp


def test_the_table_holds_what_the_library_predicts(folder, run, model_file):
    result = run("predict", model_file, "wave.csv", "-o", "out.csv", "--level", 0.5)
    assert result.exit_code == 0
    assert "60 rows" in result.stdout
    model, X = treedgp.load(model_file), pd.read_csv("wave.csv")[["x", "kind", "size"]]
    mean, sd = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X, 0.5).T
    out = pd.read_csv("out.csv")
    assert list(out.columns) == ["mean", "sd", "lower", "upper"]
    assert out.to_numpy() == pytest.approx(np.column_stack([mean, sd, lower, upper]), rel=1e-12)


def test_columns_are_found_by_name_and_others_left_out(folder, run, model_file):
    wave().to_csv("index.csv")  # with row numbers, as pandas does by default
    wave()[["kind", "y", "size", "x"]].to_csv("shuffled.csv", index=False)
    wave().drop(columns="y").to_csv("bare.tsv", index=False, sep="\t")
    plain, *others = (run("predict", model_file, f) for f in ("wave.csv", "index.csv", "shuffled.csv", "bare.tsv"))
    assert plain.stdout.startswith("mean,sd,lower,upper\n")
    assert len(plain.stdout.splitlines()) == 61
    assert all(other.stdout == plain.stdout for other in others)
    assert "counts the rows" in others[0].stderr


@pytest.mark.parametrize("name", ["out.tsv", "out.parquet"])
def test_the_suffix_of_the_output_decides(folder, run, model_file, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    assert run("predict", model_file, "wave.csv", "-o", name).exit_code == 0
    out = pd.read_parquet(name) if name.endswith("parquet") else pd.read_csv(name, sep="\t")
    assert out.shape == (60, 4)


def test_json(folder, run, model_file):
    found = json.loads(run("predict", model_file, "wave.csv", "--json").stdout)
    assert (found["task"], found["rows"]) == ("regression", 60)
    assert set(found["predictions"][0]) == {"mean", "sd", "lower", "upper"}
    found = json.loads(run("predict", model_file, "wave.csv", "--json", "-o", "o.csv").stdout)
    assert found["output"] == "o.csv"


def test_levels_that_look_like_numbers_stay_text(folder, fit, run):
    codes = np.where(np.arange(60) % 3 == 0, "A1", np.where(np.arange(60) % 3 == 1, "7", "B"))
    wave().assign(code=codes).to_csv("codes.csv", index=False)
    assert fit("codes.csv", "--target", "y").exit_code == 0
    wave().assign(code="7").to_csv("sevens.csv", index=False)
    result = run("predict", "model.npz", "sevens.csv")
    assert result.exit_code == 0
    assert result.stderr == ""


def test_a_new_level_is_a_warning(folder, run, model_file):
    wave().assign(kind="green").to_csv("green.csv", index=False)
    result = run("predict", model_file, "green.csv")
    assert result.exit_code == 0
    said = " ".join(result.stderr.split())
    assert said.count("Warning: Levels not seen in training in column 'kind': 'green'") == 1


@pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
def test_a_model_of_an_array_takes_columns_by_their_place(folder, run):
    data = wave()[["x", "size"]]
    model = treedgp.TreedGPRegressor(draws=20, tune=20, chains=1, random_state=0).fit(data.to_numpy(), wave()["y"])
    model.save("array.npz")
    data.to_csv("new.csv", index=False)
    result = run("predict", "array.npz", "new.csv", "-o", "out.csv")
    assert (result.exit_code, result.stderr) == (0, "")
    assert pd.read_csv("out.csv")["mean"].to_numpy() == pytest.approx(model.predict(data.to_numpy()), rel=1e-12)
    result = run("predict", "array.npz", "wave.csv")
    assert result.exit_code == 2
    assert "array of 2 columns without names: expected a table of as many, in that order, got 4" in " ".join(
        result.stderr.split()
    )
