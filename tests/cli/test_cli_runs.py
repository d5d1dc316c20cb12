"""Interrupts, checkpoints, reports and the demonstration."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import treedgp
from treedgp.sampling import run as sampling_run


@pytest.fixture
def interrupt_after(monkeypatch):
    """Ctrl-C once a run has made so many rounds."""

    # One round a chunk, so that the interrupt comes when it is asked for.
    monkeypatch.setitem(sampling_run.run_chains.__kwdefaults__, "chunk_seconds", 0.0)

    def arm(rounds):
        add = sampling_run.Run.add

        def interrupted(self, chunks, tuning):
            add(self, chunks, tuning)
            if self.round >= rounds:
                monkeypatch.setattr(sampling_run.Run, "add", add)
                raise KeyboardInterrupt

        monkeypatch.setattr(sampling_run.Run, "add", interrupted)

    return arm


def test_ctrl_c_saves_the_draws_so_far_and_exits_130(folder, fit, interrupt_after):
    interrupt_after(70)
    result = fit("wave.csv", "--target", "y")
    assert result.exit_code == 130
    draws = treedgp.load("model.npz").posterior_.n_leaves.shape[1]
    assert draws == 20
    assert "Interrupted: 20 of 50 draws" in result.stdout


def test_ctrl_c_while_tuning_has_nothing_to_save(folder, fit, interrupt_after):
    interrupt_after(10)
    result = fit("wave.csv", "--target", "y")
    assert result.exit_code == 130
    assert "before the first draw" in " ".join(result.stderr.split())
    assert not os.path.exists("model.npz")


@pytest.mark.parametrize("rounds", [10, 70])
def test_a_resumed_run_has_the_draws_of_one_without_a_break(folder, fit, run, interrupt_after, rounds):
    interrupt_after(rounds)
    result = fit("wave.csv", "--target", "y", "--checkpoint", "run.npz")
    assert result.exit_code == 130
    assert "treedgp resume run.npz" in result.stderr
    assert run("resume", "run.npz", "-o", "resumed.npz").exit_code == 0
    fit("wave.csv", "--target", "y", "-o", "plain.npz")
    traces = [treedgp.load(name).posterior_.log_posterior for name in ("resumed.npz", "plain.npz", "run.npz")]
    assert np.array_equal(traces[0], traces[1])
    assert np.array_equal(traces[0], traces[2])


def test_the_same_fit_goes_on_from_its_checkpoint(folder, fit, interrupt_after):
    interrupt_after(70)
    fit("wave.csv", "--target", "y", "--checkpoint", "run.npz")
    assert fit("wave.csv", "--target", "y", "--checkpoint", "run.npz").exit_code == 0
    assert treedgp.load("model.npz").posterior_.n_leaves.shape == (2, 50)


@pytest.mark.parametrize(("rounds", "is_drawing"), [(40, False), (80, True)])
def test_resume_can_be_interrupted_again(folder, fit, run, interrupt_after, rounds, is_drawing):
    interrupt_after(10)
    fit("wave.csv", "--target", "y", "--checkpoint", "run.npz")
    interrupt_after(rounds)
    result = run("resume", "run.npz", "--json")
    assert result.exit_code == 130
    assert "treedgp resume run.npz" in result.stderr
    assert bool(result.stdout) == is_drawing
    if is_drawing:
        assert json.loads(result.stdout)["interrupted"] is True


@pytest.mark.skipif(os.name == "nt", reason="no SIGINT for another process")
def test_a_real_signal_ends_a_real_process_with_130(folder):
    """Nothing is patched here."""
    command = [sys.executable, "-c", "from treedgp.cli import app; app()", "fit", "wave.csv", "--target", "y"]
    with subprocess.Popen(
        [*command, "--tune", "10", "--draws", "10000000", "--chains", "2", "--checkpoint", "run.npz"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while not os.path.exists("run.npz") and time.monotonic() < deadline:
                time.sleep(0.1)
            time.sleep(2)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=120)
        finally:
            process.kill()
    assert process.returncode == 130, error
    assert "Traceback" not in error
    assert "Interrupted:" in out
    assert treedgp.load("model.npz").posterior_.n_leaves.shape[1] > 0


def test_report_writes_a_page(folder, run, model_file):
    result = run("report", model_file, "-o", "page.html")
    assert result.exit_code == 0
    assert "Wrote page.html" in result.stdout
    assert "TreedGPRegressor" in (folder / "page.html").read_text(encoding="utf-8")
    assert json.loads(run("report", model_file, "--json").stdout)["report"] == "report.html"


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib.figure"])
def test_a_report_without_its_extra_says_what_to_install(folder, run, model_file, monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    result = run("report", model_file)
    assert result.exit_code == 1
    assert "pip install 'treedgp[" in " ".join(result.stderr.split())


@pytest.mark.parametrize("has_report", [True, False])
def test_the_demonstration_ends_well_with_or_without_a_report(folder, run, monkeypatch, has_report):
    from treedgp.cli import demo

    if not has_report:
        monkeypatch.setitem(sys.modules, "jinja2", None)
    settings = {"draws": 40, "tune": 40, "chains": 2}
    monkeypatch.setattr(demo, "_model", lambda seed: treedgp.TreedGPClassifier(random_state=seed, **settings))
    result = run("demo", "-o", "demo.html")
    assert result.exit_code == 0
    assert "The most probable tree of class struggles" in result.stdout
    assert "Convergence" in result.stdout
    assert "of 300 new plants" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert (folder / "demo.html").exists() == has_report
    assert ("pip install" in " ".join(result.stdout.split())) != has_report


def test_help_and_version(run):
    assert run("--version").stdout.strip() == treedgp.__version__
    out = run("--help").stdout
    assert all(name in out for name in ("demo", "fit", "predict", "resume", "report", "reproduce"))
