"""The CSV file of repetitions: what is written is read back, and damage is told."""

import pytest

from treedgp.errors import FormatError
from treedgp.experiments.job import Job, Outcome
from treedgp.experiments.ledger import Ledger

COLUMNS = ("rmse", "cpu")


def job(repetition, settings="a=1 b=2"):
    return Job("btgp", repetition, settings, lambda: Outcome({}), 1.0)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "friedman.csv"
    ledger = Ledger.open(path, COLUMNS)
    ledger.append(job(1), Outcome({"rmse": 0.1 + 0.2, "cpu": 1.5}))
    ledger.append(job(2, 'comma, "quote"'), Outcome({"rmse": float("nan"), "cpu": 2.0}))
    return path


def test_rows_are_read_back_exactly(path):
    rows = Ledger.open(path, COLUMNS).rows
    assert list(rows) == [job(1).key, job(2, 'comma, "quote"').key]
    assert rows[job(1).key] == {"rmse": 0.1 + 0.2, "cpu": 1.5}
    assert rows[job(2, 'comma, "quote"').key]["rmse"] != rows[job(2, 'comma, "quote"').key]["rmse"]


def test_a_line_cut_short_by_a_kill_is_dropped_and_written_again(path):
    whole = path.read_text()
    path.write_text(whole[:-3])
    ledger = Ledger.open(path, COLUMNS)
    assert list(ledger.rows) == [job(1).key]
    ledger.append(job(2, 'comma, "quote"'), Outcome({"rmse": float("nan"), "cpu": 2.0}))
    assert path.read_text() == whole


def test_a_row_computed_anew_takes_the_place_of_the_old(path):
    Ledger.open(path, COLUMNS).append(job(1), Outcome({"rmse": 0.4, "cpu": 2.5}))
    rows = Ledger.open(path, COLUMNS).rows
    assert list(rows) == [job(2, 'comma, "quote"').key, job(1).key]
    assert rows[job(1).key] == {"rmse": 0.4, "cpu": 2.5}
    assert path.read_text().count("\n") == 3


def test_a_header_cut_short_starts_over(path):
    path.write_text("model,repet")
    assert Ledger.open(path, COLUMNS).rows == {}
    assert path.read_text() == "model,repetition,settings,rmse,cpu\n"


def test_another_experiments_file_is_refused(path):
    with pytest.raises(FormatError, match=r"expected the columns model, .*error, got model, .*rmse, cpu.*-o"):
        Ledger.open(path, ("error",))


@pytest.mark.parametrize("line", ["btgp,1,a=1", "btgp,one,a=1,0.1,0.2", "btgp,1,a=1,0.1,fast"])
def test_a_line_that_is_no_row_is_named(path, line):
    path.write_text(path.read_text() + line + "\n")
    with pytest.raises(FormatError, match="line 4 is not a row"):
        Ledger.open(path, COLUMNS)


def test_the_frame_has_the_wanted_rows_only(path):
    frame = Ledger.open(path, COLUMNS).frame([job(1).key, job(7).key])
    assert frame.to_dict("records") == [
        {"model": "btgp", "repetition": 1, "settings": "a=1 b=2", "rmse": 0.1 + 0.2, "cpu": 1.5}
    ]
