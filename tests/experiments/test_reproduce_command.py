"""`treedgp reproduce`: exit codes and what it says."""

from pathlib import Path
from urllib.error import URLError

import pandas as pd
import pytest
from typer.testing import CliRunner

from treedgp.cli import app
from treedgp.experiments import NAMES, Reproduction, friedman
from treedgp.experiments.job import RunLength


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "1")  # in this process
    monkeypatch.setattr(friedman, "length", lambda settings: RunLength(10, 5, 2, 1))

    def run(*arguments):
        return CliRunner().invoke(app, ["reproduce", *arguments, "-o", str(tmp_path / "out")])

    return run


def said(result):
    """On standard error, in one line."""
    return " ".join(result.stderr.split())


def test_the_table_is_printed_and_the_files_are_named(run, tmp_path):
    result = run("friedman", "--quick", "--repetitions", "1", "--model", "bcart")
    assert result.exit_code == 0
    assert "| bcart | category column, in the tree | 2.52 | 2.79 | 2.83 | 3.24 |" in result.output
    assert "friedman.csv" in result.output
    assert (tmp_path / "out" / "friedman.md").exists()


def test_without_a_network_the_error_says_what_to_do(run, monkeypatch):
    def unreachable(*args, **kwargs):
        raise URLError("no route")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    result = run("credit", "--quick")
    assert result.exit_code == 2
    assert "https://archive.ics.uci.edu/dataset/27/credit+approval" in said(result)
    assert "treedgp reproduce credit --data path/to/crx.data" in said(result)


def test_a_missing_file_says_what_to_do(run):
    result = run("credit", "--data", "nowhere.data")
    assert result.exit_code == 2
    assert "'nowhere.data'" in said(result)
    assert "treedgp reproduce credit --data path/to/crx.data" in said(result)


def test_all_needs_the_credit_data_before_it_begins(run, tmp_path):
    result = run("all", "--data", "nowhere.data")
    assert result.exit_code == 2
    assert "treedgp reproduce credit --data path/to/crx.data" in said(result)
    assert not list((tmp_path / "out").iterdir())


def test_all_runs_every_experiment_and_gives_the_data_to_credit(run, tmp_path, monkeypatch):
    def reproduce(name, folder, settings, models):
        asked.append((name, settings.data))
        return Reproduction(pd.DataFrame(), f"# {name}", [])

    asked = []
    monkeypatch.setattr("treedgp.experiments.reproduce", reproduce)
    assert run("all", "--data", "crx.data").exit_code == 0
    assert asked == [("credit", Path("crx.data")), ("friedman", None), ("step", None), ("exp2d", None)]
    assert {name for name, _ in asked} == set(NAMES)


def test_an_interrupted_run_exits_130(run, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(friedman, "fit_ours", interrupted)
    result = run("friedman", "--model", "bcart")
    assert result.exit_code == 130
    assert "the same command continues" in said(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("all", "--model", "bcart"), "belongs to one experiment"),
        (("friedman", "--model", "btgp9"), "got btgp9"),
        (("nothing",), "friedman"),
        (("friedman", "--repetitions", "0"), "repetitions must be at least 1, got 0"),
    ],
)
def test_bad_usage_exits_2(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in said(result)
