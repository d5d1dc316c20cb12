"""The Friedman experiment at tiny size: the page, and that a stopped run continues to the same table."""

import os
import signal
import subprocess
import sys
import time

import pytest

from treedgp.errors import ConfigError
from treedgp.experiments import Settings, friedman, reproduce
from treedgp.experiments.job import RunLength
from treedgp.experiments.run import _outcomes

TINY = RunLength(10, 5, 2, 1)
CHEAP = ["bcart", "btlm2", "btgp3llm", "hist_gb"]
SCRIPT = """
import sys
from treedgp.experiments import Settings, friedman, reproduce
from treedgp.experiments.job import RunLength
friedman.length = lambda settings: RunLength(10, 5, 2, 1)
reproduce("friedman", sys.argv[1], Settings(repetitions=2), models=sys.argv[2].split(), n_jobs=1, progressbar=False)
"""


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    monkeypatch.setattr(friedman, "length", lambda settings: TINY)


def run(folder, **options):
    settings = Settings(repetitions=options.pop("repetitions", 2))
    return reproduce("friedman", folder, settings, **{"models": CHEAP, "n_jobs": 1, "progressbar": False} | options)


def errors(result):
    rows = result.rows.sort_values(["model", "repetition"])
    return rows[["model", "repetition", "settings", "rmse"]].to_dict("records")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(friedman, "length", lambda settings: TINY)
        return run(tmp_path_factory.mktemp("whole"))


@pytest.mark.parametrize(("n_jobs", "workers"), [(None, 3), (-1, 3), (-2, 2), (2, 2), (9, 4)])
def test_negative_n_jobs_count_from_all_cores(monkeypatch, n_jobs, workers):
    asked, cores = [], 3
    monkeypatch.setattr("joblib.effective_n_jobs", lambda n: n if n > 0 else cores + 1 + n)
    monkeypatch.setattr("joblib.Parallel", lambda n_jobs, **_: asked.append(n_jobs) or (lambda tasks: iter(())))
    assert list(_outcomes([None] * 4, n_jobs)) == []
    assert asked == [workers]


def test_no_jobs_at_all_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"n_jobs must be None or an integer other than 0 .*, got 0"):
        run(tmp_path, n_jobs=0)
    assert list(tmp_path.iterdir()) == []


def test_every_model_has_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(friedman, "N_TRAIN", 150)
    result = run(tmp_path, repetitions=1, models=None)
    assert list(result.rows["model"]) == [*friedman.ROWS, "gpr", "hist_gb", "forest"]
    assert result.rows["rmse"].between(0.3, 6).all()
    assert (result.rows["cpu"] > 0).all()
    table = {line.split(" | ")[0].strip("| "): line for line in result.report.splitlines() if line.startswith("| ")}
    assert "| 0.41 | 0.53 | 0.66 | 1.16 |" in table["btgp2"]
    assert "as three bits, in the leaves" in table["btgpllm"]
    assert "three bits" not in table["btgp3"]
    assert "| three bits |" in table["gpr"]
    assert {path.name for path in result.files} == {"friedman.md", "friedman.csv", "friedman.png"}
    assert all(path.stat().st_size > 0 for path in result.files)


def test_the_data_of_a_repetition_are_the_same_for_all_and_differ_between_repetitions(uninterrupted):
    by_seed = {(row["model"], row["repetition"]): row["rmse"] for row in errors(uninterrupted)}
    assert len(by_seed) == 8
    assert len(set(by_seed.values())) == 8


def test_a_stopped_run_continues_to_the_same_table(tmp_path, monkeypatch, uninterrupted):
    began = []
    fit = friedman.fit_ours

    def stop_at_third(name, repetition, length):
        began.append((name, repetition))
        if len(began) == 3:
            raise KeyboardInterrupt
        return fit(name, repetition, length)

    monkeypatch.setattr(friedman, "fit_ours", stop_at_third)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path)
    continued = run(tmp_path)
    assert began == [("bcart", 1), ("btlm2", 1), ("btgp3llm", 1), ("btgp3llm", 1)] + [
        (name, 2) for name in ("bcart", "btlm2", "btgp3llm")
    ]
    assert errors(continued) == errors(uninterrupted)
    assert len((tmp_path / "friedman.csv").read_text().splitlines()) == 9


def test_a_killed_process_continues_to_the_same_table(tmp_path, uninterrupted):
    rows = tmp_path / "friedman.csv"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path), " ".join(CHEAP)])
    deadline = time.monotonic() + 120
    while not (rows.exists() and rows.read_text().count("\n") >= 2):
        assert time.monotonic() < deadline
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    kept = rows.read_text().splitlines()
    continued = run(tmp_path)
    assert rows.read_text().splitlines()[: len(kept) - 1] == kept[:-1]
    assert errors(continued) == errors(uninterrupted)


def test_processes_give_the_same_rows(tmp_path, uninterrupted):
    assert errors(run(tmp_path, models=["hist_gb"], n_jobs=2)) == [
        row for row in errors(uninterrupted) if row["model"] == "hist_gb"
    ]


def test_rows_of_other_settings_are_kept_but_not_mixed_in(tmp_path, monkeypatch):
    run(tmp_path, models=["bcart"])
    monkeypatch.setattr(friedman, "length", lambda settings: RunLength(11, 5, 2, 1))
    result = run(tmp_path, models=["bcart"], repetitions=1)
    assert result.rows["settings"].str.startswith("tune=11").tolist() == [True]
    assert len((tmp_path / "friedman.csv").read_text().splitlines()) == 4


def test_without_matplotlib_the_page_says_how_to_get_the_figures(tmp_path, monkeypatch):
    monkeypatch.setattr("treedgp.experiments.run.has_matplotlib", lambda: False)
    result = run(tmp_path, models=["bcart"], repetitions=1)
    assert "pip install 'treedgp[plot]'" in result.report
    assert [path.suffix for path in result.files] == [".md", ".csv"]


def test_run_lengths_are_those_promised(monkeypatch):
    monkeypatch.undo()
    quick, full = (friedman.length(Settings(quick=is_quick)) for is_quick in (True, False))
    assert (quick.tune, quick.draws * quick.thin, quick.chains) == (500, 500, 1)
    assert (full.tune, full.draws * full.thin, full.draws, full.chains) == (2000, 5000, 500, 1)
    assert len({job.repetition for job in friedman.jobs(Settings(quick=True))}) == 3
    assert len({job.repetition for job in friedman.jobs(Settings())}) == 100
    assert friedman.length(Settings(chains=3)).chains == 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda folder: reproduce("freidman", folder), "must be one of friedman, step, exp2d, credit"),
        (lambda folder: run(folder, models=["btgp9"]), "models must be among bcart, .*got btgp9"),
        (lambda folder: reproduce("friedman", folder, Settings(data=folder)), "friedman makes its own data"),
        (lambda folder: run(folder / "file"), "a folder that can be written"),
        (lambda folder: Settings(repetitions=0), "repetitions must be at least 1, got 0"),
    ],
)
def test_wrong_names_and_numbers_are_told(tmp_path, call, message):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=message):
        call(tmp_path)
