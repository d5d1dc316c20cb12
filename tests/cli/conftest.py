"""A folder with tables in it, and the command line inside."""

import pytest
from cli_tables import SHORT, wave
from typer.testing import CliRunner

from treedgp.cli import app


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """wave.csv in the current folder."""
    monkeypatch.chdir(tmp_path)
    wave().to_csv("wave.csv", index=False)
    return tmp_path


@pytest.fixture
def run():
    """Runs a command: its result has exit_code, stdout and stderr, and no line break inside a sentence."""

    def call(*arguments):
        result = CliRunner().invoke(app, [str(a) for a in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def fit(run):
    return lambda *arguments: run("fit", *arguments, *SHORT)


@pytest.fixture(scope="session")
def model_file(tmp_path_factory):
    """A model of wave.csv."""
    folder = tmp_path_factory.mktemp("model")
    wave().to_csv(folder / "wave.csv", index=False)
    result = CliRunner().invoke(app, ["fit", f"{folder}/wave.csv", "--target", "y", "-o", f"{folder}/m.npz", *SHORT])
    assert result.exit_code == 0, result.output
    return folder / "m.npz"
