"""A slow fit says so after its first chunk; a progress bar appears only where it is wanted."""

import sys
import threading
import warnings
from types import SimpleNamespace

import pytest

from treedgp.sampling.progress import SLOW_SECONDS, Progress, is_wanted, warn_if_slow


def run_of(rounds, seconds):
    return SimpleNamespace(round=rounds, work=seconds, chains=[])


def test_a_slow_fit_is_announced_with_an_estimate():
    with pytest.warns(UserWarning, match=r"about 33 minutes.*n\^3"):
        warn_if_slow(run_of(1, 1.0), rounds=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_slow(run_of(1, 0.9 * SLOW_SECONDS / 2000), rounds=2000)


def test_it_is_announced_once():
    with warnings.catch_warnings(record=True) as caught, Progress(False, 2000, 1000) as progress:
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
