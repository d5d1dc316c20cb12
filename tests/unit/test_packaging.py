"""What a package says about itself holds together."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import treedgp

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_the_version_is_the_same_everywhere():
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    assert PROJECT["project"]["version"] == treedgp.__version__ == citation


def test_the_extras_are_those_of_the_manual():
    extras = PROJECT["project"]["optional-dependencies"]
    assert set(extras) >= {"plot", "report", "datatree", "parquet", "dask", "dev"}
    names = {extra: {re.split(r"[\[<>=~!]", wanted)[0] for wanted in extras[extra]} for extra in extras}
    assert names["plot"] == {"matplotlib"}
    assert names["report"] == {"matplotlib", "jinja2"}
    assert names["parquet"] == {"pyarrow"}


def test_hooks_are_local_and_name_what_make_lint_runs():
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    assert re.findall(r"repo: (\S+)", text) == ["local"]
    lint = (ROOT / "Makefile").read_text().split("\nlint:")[1].split("\n\n")[0]
    tools = re.findall(r"\$\(BIN\)/(?:python )?(\S+)", lint)
    assert len(tools) >= 5
    assert all(tool in text for tool in tools)


def test_what_a_machine_lacks_is_said_with_the_line_that_installs_it():
    check = [sys.executable, str(ROOT / "tools" / "check_machine.py")]
    bare = subprocess.run(check, env={**os.environ, "PATH": ""}, capture_output=True, text=True, check=False)
    assert bare.returncode == 1
    assert re.search(r"sudo apt-get install .*g\+\+", bare.stderr)


def test_importing_the_library_or_its_commands_stays_light():
    """Plots, tables of Arrow and clusters are imported where they are used."""
    heavy = ["matplotlib", "jinja2", "pyarrow.parquet", "xarray", "dask", "polars"]
    code = f"import sys, treedgp, treedgp.cli; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_parts_of_the_library_come_with_it():
    code = "import treedgp; treedgp.datasets.load_motorcycle, treedgp.design.latin_hypercube, treedgp.experiments.NAMES"
    subprocess.run([sys.executable, "-c", f"{code}; treedgp.plot.tree"], check=True)
