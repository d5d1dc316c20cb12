"""Mistakes of newcomers at the command line: exit code 2 and a sentence with what was expected, came and helps."""

import errno
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_tables import SHORT, wave


def table(name="bad.csv", drop=(), **columns):
    """Writes the wave with some columns changed."""
    wave().drop(columns=list(drop)).assign(**columns).to_csv(name, index=False)


def text(content, name="bad.csv"):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())


def holes(*rows):
    return np.where(np.isin(np.arange(60), rows), np.nan, np.arange(60.0))


NUMBERS_AND_A_SLIP = ["1.5", "2.5", "n.b."] + [f"{i}.25" for i in range(57)]

# What is written, the options after `fit bad.csv`, and words of the message, in any order.
FIT = {
    "misspelled target": (table, ["--target", "Y"], ["--target", "got 'Y'", "Did you mean 'y'?"]),
    "a target that is not there": (table, ["--target", "price"], ["got 'price'", "columns are 'x', 'kind', 'size'"]),
    "no line of names": (
        lambda: text("1.5,2.5,3.5\n4,5,6\n"),
        ["--target", "y"],
        ["got 'y'", "first line of the file must hold the names"],
    ),
    "misspelled column to ignore": (table, ["--target", "y", "--ignore", "szie"], ["--ignore", "'size'?"]),
    "misspelled category": (table, ["--target", "y", "--categorical", "knd"], ["--categorical", "'kind'?"]),
    "the target as an input": (table, ["--target", "y", "--ignore", "y"], ["target 'y'", "Leave it out"]),
    "text in a numeric column": (
        lambda: table(x=NUMBERS_AND_A_SLIP),
        ["--target", "y"],
        ["'x'", "59 numbers and 1 text, such as 'n.b.' in data row 3", "--categorical x or --ignore x"],
    ),
    "text and missing numbers in a numeric column": (
        lambda: table(x=["NA"] * 40 + NUMBERS_AND_A_SLIP[:20]),
        ["--target", "y"],
        ["'x'", "19 numbers and 1 text, such as 'n.b.' in data row 43"],
    ),
    "integers beyond 64 bits": (
        lambda: table(size=[10**25 + i for i in range(60)]),
        ["--target", "y"],
        ["'size'", "at most 64 bits", "Use text"],
    ),
    "decimal commas": (
        lambda: text("x;y\nNA;1\n" + "".join(f"{i},5;{i}\n" for i in range(30))),
        ["--target", "y"],
        ["'x'", "decimal commas", "'0,5'", "Replace"],
    ),
    "thousands separators": (
        lambda: table(size=[f"{i},000" if i < 30 else "7" for i in range(60)]),
        ["--target", "y"],
        ["'size'", "thousands separators", "'0,000'", "remove"],
    ),
    "thousands separators twice": (
        lambda: table(size=[f"{i + 1},636,961" for i in range(60)]),
        ["--target", "y"],
        ["'size'", "thousands separators", "'1,636,961'", "remove"],
    ),
    "an empty column": (
        lambda: table(x=np.nan),
        ["--target", "y"],
        ["'x'", "no values at all", "--ignore x"],
    ),
    "missing numbers": (
        lambda: table(x=holes(3, 8)),
        ["--target", "y"],
        ["'x'", "2 of 60", "rows 4, 9", "--drop-missing"],
    ),
    "missing targets": (
        lambda: table(y=holes(0)),
        ["--target", "y"],
        ["'y'", "1 of 60", "add --drop-missing to leave out such rows."],
    ),
    "a target without values": (lambda: table(y=np.nan), ["--target", "y"], ["'y'", "no values", "another --target"]),
    "a number missing in every row": (
        lambda: table(x=holes(*range(0, 60, 2)), size=holes(*range(1, 60, 2))),
        ["--target", "y", "--drop-missing"],
        ["Each of the 60 rows", "--ignore"],
    ),
    "one class": (lambda: table(kind="red"), ["--target", "kind"], ["'kind'", "'red' in each of 60", "two values"]),
    "a constant response": (lambda: table(y=1.5), ["--target", "y"], ["'y'", "1.5", "at least two values"]),
    "numbers as classes": (
        table,
        ["--target", "y", "--task", "classification"],
        ["Expected classes in the target 'y'", "got continuous numbers such as", "Give --task regression"],
    ),
    "linear leaves of classes": (table, ["--target", "kind", "--leaf", "linear"], ["leaf", "'linear'"]),
    "classes as a regression": (
        table,
        ["--target", "kind", "--task", "regression"],
        ["Expected numbers in the target 'kind'", "got text such as", "Give --task classification"],
    ),
    "no input left": (
        table,
        ["--target", "y", "--ignore", "x", "--ignore", "kind", "--ignore", "size"],
        ["at least one input", "got none"],
    ),
    "an empty file": (lambda: text(""), ["--target", "y"], ["bad.csv is empty", "line of column names"]),
    "names without rows": (lambda: text("x,y\n"), ["--target", "y"], ["0 rows", "expected data"]),
    "duplicate names": (lambda: text("x,x,y\n1,2,3\n"), ["--target", "y"], ["different names", "'x'", "Rename"]),
    "a column without a name": (lambda: text("x,,y\n1,2,3\n"), ["--target", "y"], ["column 2 has no name", "Name it"]),
    "a line too long": (
        lambda: text("x,y\n1,2\n3,4,5\n"),
        ["--target", "y"],
        ["2 values", "line 3", "double quotes"],
    ),
    "every line too long": (
        lambda: text("x,y\n1,2,3\n3,4,5\n"),
        ["--target", "y"],
        ["2 values", "one name for each column"],
    ),
    "a comment above the names": (
        lambda: text("# made by hand\nx,y\n1,2\n"),
        ["--target", "y"],
        ["1 value, one for each column name", "some have more. Put", "remove comments above the names"],
    ),
    "a quote among the names that never closes": (
        lambda: text('y,"x\n1,2\n3,4\n'),
        ["--target", "y"],
        ["2 values", "EOF inside string", "close every quote"],
    ),
    "a quote that never closes in a long file": (
        lambda: text('y,"x\n' + "1,2\n" * 50_000),
        ["--target", "y"],
        ["expected a line of column names", "field larger than", "Close every double quote"],
    ),
    "not text at all": (lambda: text(b"PK\x03\x04\xff\xfe\x80"), ["--target", "y"], ["not text in UTF-8", "exported"]),
    "infinite numbers": (
        lambda: table(x=np.where(np.arange(60) == 5, np.inf, 1.0)),
        ["--target", "y"],
        ["infinity", "'x' (row 5)", "Replace or drop"],
    ),
    "an impossible leaf": (table, ["--target", "y", "--leaf", "forest"], ["leaf must be", "got 'forest'", "linear"]),
    "an impossible kernel": (table, ["--target", "y", "--kernel", "rbf"], ["kernel must be", "got 'rbf'", "matern52"]),
    "an unknown preset": (table, ["--target", "y", "--preset", "btpg"], ["preset must be one of", "btgp", "'btpg'"]),
    "a preset for classes": (
        table,
        ["--target", "y", "--preset", "ctgp"],
        ["Expected classes", "the preset 'ctgp'", "Give --task regression", "--preset has to be for the same task"],
    ),
    "negative draws": (table, ["--target", "y", "--draws", "-5"], ["--draws", "greater than or equal to 1|x>=1"]),
    "no jobs": (table, ["--target", "y", "--jobs", "0"], ["n_jobs must be", "got 0", "-1: every core"]),
    "a misspelled option": (table, ["--target", "y", "--drows", "5"], ["--drows", "--draws"]),
    "no target": (table, [], ["--target", "Missing option"]),
    "an unknown task": (table, ["--target", "y", "--task", "ranking"], ["--task", "regression", "classification"]),
    "a folder that is not there": (table, ["--target", "y", "-o", "no/m.npz"], ["no folder", "Make it first"]),
    "a folder as output": (
        lambda: (table(), Path("d").mkdir()),
        ["--target", "y", "-o", "d"],
        ["folder 'd'", "file name"],
    ),
    "the data as output": (table, ["--target", "y", "-o", "./bad.csv"], ["output is the input", "another path"]),
    "the data as checkpoint": (table, ["--target", "y", "--checkpoint", "bad.csv"], ["output is the input"]),
    "a checkpoint of other data": (
        lambda: (table(y=np.arange(60.0)), Path("run.npz").write_bytes(Path("other.npz").read_bytes())),
        ["--target", "y", "--checkpoint", "run.npz"],
        ["other data or settings", "digest", "another path, or delete"],
    ),
    "a checkpoint that is no such file": (
        lambda: (table(), text("x", "run.npz")),
        ["--target", "y", "--checkpoint", "run.npz"],
        ["run.npz", "Expected a file written by"],
    ),
}


def said(result):
    """The message in one line, without the frame that typer draws."""
    return " ".join(result.stderr.replace("│", " ").split())


def check(result, words, code=2):
    message = said(result)
    assert result.exit_code == code, message
    assert "Traceback" not in result.output
    assert not re.search(r"\w\.\.\s", message), message
    for word in words:
        assert any(option in message for option in word.split("|")), (word, message)


@pytest.mark.parametrize("mistake", FIT)
def test_a_mistaken_fit_is_explained(folder, run, model_file, mistake):
    write, options, words = FIT[mistake]
    if "checkpoint of other" in mistake:
        Path("other.npz").write_bytes(model_file.read_bytes())
    write()
    check(run("fit", "bad.csv", *SHORT, *options), words)
    assert not Path("model.npz").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere.csv", ["there is no nowhere.csv", "Check the path"]),
        ("sheet.xlsx", [".csv, .tsv or .parquet", "'sheet.xlsx'", "Export"]),
        ("folder.csv", ["Expected a file of data", "folder"]),
        (".", ["Expected a file of data", "folder '.'"]),
        ("bad.parquet", ["bad.parquet is not a Parquet file", "Write it again"]),
    ],
)
def test_a_wrong_file_is_explained(folder, fit, name, words):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    Path("folder.csv").mkdir()
    text("no parquet", "bad.parquet")
    check(fit(name, "--target", "y"), words)


def test_parquet_without_its_extra_says_what_to_install(folder, fit, monkeypatch):
    def refuse(path):
        raise ImportError("pyarrow")

    text("", "a.parquet")
    monkeypatch.setattr(pd, "read_parquet", refuse)
    check(fit("a.parquet", "--target", "y"), ["pip install 'treedgp[parquet]'", "or use CSV"], code=1)


# What is written, the arguments after `predict`, and words of the message.
PREDICT = {
    "a missing column": (
        lambda: table(drop=["size"]),
        ["{model}", "bad.csv"],
        ["lack 'size'", "got 'x', 'kind', 'y'", "Add or rename"],
    ),
    "missing numbers": (lambda: table(x=holes(1)), ["{model}", "bad.csv"], ["'x' lacks 1 of 60", "rows 2", "Fill"]),
    "text for numbers": (lambda: table(x="wide"), ["{model}", "bad.csv"], ["'x' is numeric in training", "'wide'"]),
    "no model": (table, ["none.npz", "bad.csv"], ["No such file", "none.npz", "Check the path"]),
    "model and data swapped": (table, ["bad.csv", "{model}"], ["bad.csv cannot be read", "Expected a file written by"]),
    "a level in percent": (table, ["{model}", "bad.csv", "--level", "90"], ["level must be", "got 90", "0.9 for 90%"]),
    "an unknown output": (table, ["{model}", "bad.csv", "-o", "out.xlsx"], [".csv, .tsv or .parquet", "out.xlsx"]),
    "the new rows as output": (table, ["{model}", "bad.csv", "-o", "bad.csv"], ["output is the input", "another path"]),
    "a damaged model": (
        lambda: (table(), text(b"\0" * 99, "half.npz")),
        ["half.npz", "bad.csv"],
        ["half.npz cannot be read", "cut short", "write it again"],
    ),
}


@pytest.mark.parametrize("mistake", PREDICT)
def test_a_mistaken_prediction_is_explained(folder, run, model_file, mistake):
    write, arguments, words = PREDICT[mistake]
    write()
    check(run("predict", *(a.format(model=model_file) for a in arguments)), words)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_changed_model_is_not_believed(folder, run, model_file, share):
    data = bytearray(model_file.read_bytes())
    data[int(share * len(data))] ^= 0xFF
    text(bytes(data), "changed.npz")
    check(run("predict", "changed.npz", "wave.csv"), ["changed.npz"])


@pytest.mark.parametrize("name", ["resume", "report"])
def test_other_commands_explain_a_wrong_file_too(folder, run, name):
    check(run(name, "wave.csv"), ["wave.csv cannot be read", "Expected a file written by"])
    check(run(name, "none.npz"), ["none.npz"])


def test_the_report_does_not_replace_its_model(folder, run, model_file):
    shutil.copy(model_file, "m.npz")
    check(run("report", "m.npz", "-o", "m.npz"), ["m.npz: the output is the input", "another path"])


@pytest.mark.parametrize(
    ("odd", "target", "words"),
    [
        ([[i] for i in range(60)], "y", ["'odd': expected levels", "in row 0"]),
        (pd.date_range("2020-01-01", periods=60), "y", ["dates or times in column 'odd'", "Turn a date"]),
        ([[i] for i in range(60)], "odd", ["Expected numbers or classes in the target 'odd'", "Give another"]),
    ],
    ids=["lists", "dates", "lists as target"],
)
def test_a_column_of_another_type_is_explained_before_anything_is_said_of_it(folder, fit, odd, target, words):
    pytest.importorskip("pyarrow")
    wave().assign(odd=odd).to_parquet("odd.parquet")
    result = fit("odd.parquet", "--target", target)
    check(result, words)
    assert result.stdout == ""
    assert "Warning" not in said(result)


def test_a_column_of_names_is_a_warning(folder, fit):
    table(who=[f"person {i}" for i in range(60)])
    result = fit("bad.csv", "--target", "y")
    assert result.exit_code == 0
    assert "'who' has 60 levels in 60 rows" in said(result)
    assert "--ignore who" in said(result)


def test_a_failure_that_is_no_bad_input_is_1(folder, fit, monkeypatch):
    from treedgp import SamplerError, TreedGPRegressor

    def fail(*arguments, **options):
        raise SamplerError("The chain cannot start.")

    monkeypatch.setattr(TreedGPRegressor, "fit", fail)
    check(fit("wave.csv", "--target", "y"), ["cannot start"], code=1)


def test_a_bug_keeps_its_traceback(folder, fit, monkeypatch):
    from treedgp import TreedGPRegressor

    monkeypatch.setattr(TreedGPRegressor, "fit", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fit("wave.csv", "--target", "y")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions differ")
def test_a_path_without_permission_is_known_before_the_fit(folder, fit, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    check(fit("wave.csv", "--target", "y"), ["permission denied", "another path"])


def test_too_few_rows_to_split_is_said(folder, fit):
    wave().iloc[:15].to_csv("few.csv", index=False)
    result = fit("few.csv", "--target", "y")
    assert result.exit_code == 0
    words = " ".join(result.stdout.split())
    assert "15 rows are too few for a split: a leaf holds at least 10. Use more rows" in words
    assert "never changed their tree" not in words  # that running longer would not help


def test_a_full_disk_is_a_failure(folder, fit, monkeypatch):
    from treedgp import TreedGPRegressor

    def fail(self, path):
        raise OSError(errno.ENOSPC, "No space left on device")  # of a write; of an open with the path

    monkeypatch.setattr(TreedGPRegressor, "save", fail)
    result = fit("wave.csv", "--target", "y")
    check(result, ["No space left on device."], code=1)
    assert "None" not in result.stderr
