"""A slow fit says so after its first chunk; a progress bar appears only where it is wanted."""

import io
import sys
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from treedgp.posterior.diagnostics import rhat
from treedgp.sampling.progress import SLOW_SECONDS, Progress, is_wanted, warn_if_slow


def run_of(rounds, seconds):
    return SimpleNamespace(round=rounds, work=seconds, chains=[])


def test_a_slow_fit_is_announced_with_an_estimate():
    with pytest.warns(UserWarning, match=r"about 33 minutes.*n\^3") as caught:
        warn_if_slow(1.0, rounds=2000)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_slow(0.9 * SLOW_SECONDS / 2000, rounds=2000)


@pytest.mark.parametrize(
    ("rounds", "done", "work", "message"),
    [
        (2000, 1000, 0.0, "about 25 minutes: 1000 rounds of 1.5 s"),  # loaded: what was spent is not known
        (2000, 1000, 1e6, "about 25 minutes: 1000 rounds of 1.5 s"),  # extended
        (1200, 1000, 1e6, None),
    ],
)
def test_a_run_that_goes_on_counts_what_is_left(rounds, done, work, message):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Progress(False, run_of(done, work), rounds, 500).report(run_of(done + 2, work + 3.0))
    assert len(caught) == (message is not None)
    assert all(message in str(w.message) for w in caught)


def test_it_is_announced_once():
    with warnings.catch_warnings(record=True) as caught, Progress(False, run_of(0, 0.0), 2000, 1000) as progress:
        warnings.simplefilter("always")
        progress.report(run_of(1, 1.0))
        progress.report(run_of(2, 2.0))
    assert len(caught) == 1


def test_auto_is_silent_without_a_terminal_and_in_threads(monkeypatch):
    assert is_wanted(True)
    assert not is_wanted(False)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert not is_wanted("auto")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    assert is_wanted("auto")
    answers = []
    thread = threading.Thread(target=lambda: answers.append(is_wanted("auto")))
    thread.start()
    thread.join()
    assert answers == [False]


def drawn(rounds, traces):
    """A run of some chains, each in a state with three leaves."""
    chains = [SimpleNamespace(state=[{"column": [0] * 5, "log_posterior": [-12.25]}]) for _ in traces]
    halves = [[[{"log_posterior": trace[:5]}], [{"log_posterior": trace[5:]}]] for trace in traces]
    return SimpleNamespace(round=rounds, chains=chains, draws=halves)


def test_the_bar_tells_how_the_chains_are_doing():
    traces = np.random.default_rng(0).standard_normal((2, 40))
    progress = Progress(True, run_of(0, 0.0), 2000, 1000, rhat)
    assert progress.health(drawn(999, traces)) == "tuning: 3.0 leaves, log posterior -12.2"
    said = progress.health(drawn(1040, traces))
    assert said == f"drawing: 3.0 leaves, log posterior -12.2, R-hat {rhat(traces):.2f}"
    apart = progress.health(drawn(1040, traces + np.array([[0], [5]])))
    assert float(apart.split()[-1]) > 1.5


def test_too_few_draws_have_no_r_hat():
    said = Progress(True, run_of(0, 0.0), 2000, 1000, rhat).health(drawn(1002, np.zeros((2, 6))))
    assert "R-hat" not in said


def test_the_bar_fits_into_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("treedgp.sampling.progress.DELAY_SECONDS", 0.0)
    run = drawn(1500, np.random.default_rng(0).standard_normal((2, 40)) - 12345)
    run.work = 0.0
    with Progress(True, run_of(0, 0.0), 2000, 1000, rhat) as progress:
        progress.report(run)
        progress._bar.refresh()
        bar = progress._bar
        lines = bar.console.render_lines(bar.get_renderable(), bar.console.options.update(width=80), pad=False)
    text = ["".join(segment.text for segment in line) for line in lines]
    assert len(text) == 1
    assert "R-hat" in text[0]
    assert "75%" in text[0]
    assert len(text[0]) <= 80
