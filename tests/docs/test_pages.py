"""The code of every page runs, with short chains; links, commands and targets that the pages name exist."""

import ast
import re
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from treedgp import design, plot
from treedgp.cli import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SHORTER = 20  # times fewer rounds than on the page

FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1`*$", flags=re.S | re.M)
ROUNDS = re.compile(r"""(\b(?:tune|draws)["']?\s*[=:]\s*|\.extend\()(\d+)\b""")


def name_of(page: Path) -> str:
    return page.relative_to(DOCS).with_suffix("").as_posix()


def code_of(page: Path) -> list[str]:
    """The Python of a page: code cells without their options, and python blocks."""
    blocks = []
    for _, language, body in FENCE.findall(page.read_text()):
        if language.startswith("{code-cell}"):
            blocks.append(re.sub(r"\A(:\w+:[^\n]*\n)+", "", body))
        elif language.strip() == "python":
            blocks.append(body)
    return blocks


def shorten(code: str) -> str:
    return ROUNDS.sub(lambda match: f"{match[1]}{int(match[2]) // SHORTER}", code)


def run(code: str, names: dict[str, object], where: str) -> object:
    """The value of the last line if it is an expression, as a notebook shows it."""
    module = ast.parse(code)
    last = module.body.pop() if isinstance(module.body[-1], ast.Expr) else None
    exec(compile(module, where, "exec"), names)
    return eval(compile(ast.Expression(last.value), where, "eval"), names) if isinstance(last, ast.Expr) else None


def has_own_test(page: Path) -> bool:
    """A page that needs more than short chains is run by test_NAME_page.py."""
    return (Path(__file__).parent / f"test_{page.stem}_page.py").exists()


def test_every_kind_of_page_has_code():
    with_code = {name_of(page) for page in PAGES if code_of(page)}
    assert {"index", "presets", "coming-from-tgp", "estimators/regressor"} <= with_code
    tutorials = {name_of(page) for page in PAGES if page.parent.name == "tutorials"}
    assert len(tutorials) >= 5
    assert tutorials <= with_code


def test_shorten():
    code = 'f(tune=1000, draws=200, thin=5) | {"tune": 40}\nmodel.extend(60)\nmake_data(400)'
    assert shorten(code) == 'f(tune=50, draws=10, thin=5) | {"tune": 2}\nmodel.extend(3)\nmake_data(400)'


@pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
@pytest.mark.parametrize("page", [page for page in PAGES if code_of(page) and not has_own_test(page)], ids=name_of)
def test_code_runs(page, tmp_path, monkeypatch):
    matplotlib.use("agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    broken = []
    for number, block in enumerate(code_of(page)):
        shown = run(shorten(block), names, f"{page.name}, block {number}")
        if isinstance(shown, bool | np.bool_) and not shown:  # a comparison that ends a block is a promise
            broken.append(block)
    plt.close("all")
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    text = page.read_text()
    targets = [page.parent / f"{name}.md" for name in re.findall(r"\{doc\}`([^`<>]+)`", text)]
    targets += [page.parent / link for link in re.findall(r"\]\(([^):#]+\.md)[#)]", text)]
    missing = [target for target in targets if not target.exists()]
    assert not missing


def test_every_page_is_in_the_navigation():
    entries = {
        line.strip()
        for _, language, body in FENCE.findall((DOCS / "index.md").read_text())
        if language == "{toctree}"
        for line in body.splitlines()
        if line and not line.startswith(":")
    }
    assert entries | {"index"} == {name_of(page) for page in PAGES}


@pytest.mark.parametrize("module", [plot, design], ids=lambda module: module.__name__)
def test_pages_name_every_picture_and_design_and_no_other(module):
    text = "".join(page.read_text() for page in PAGES)
    assert set(re.findall(rf"\b{module.__name__.split('.')[1]}\.([a-z_]+)\(", text)) == set(module.__all__)


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=lambda page: page.stem)
def test_commands_exist(page):
    """`treedgp X --option` is a command with that option, `make X` a target."""
    text = page.read_text()
    commands = get_command(app).commands
    for name, rest in re.findall(r"(?:^|`)treedgp ([a-z]+)\b([^`\n]*)", text, flags=re.M):
        assert name in commands, f"no command treedgp {name}"
        assert CliRunner().invoke(app, [name, "--help"]).exit_code == 0
        known = {option for parameter in commands[name].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known | {"--help"}
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:^|`)make ([a-z-]+)\b", text, flags=re.M):
        assert re.search(rf"^{target}:", makefile, flags=re.M), f"no target {target} in the Makefile"
