"""The README's code runs as printed."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
def test_code_blocks_run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.S)
    assert len(blocks) >= 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    printed = capsys.readouterr().out
    assert "log_posterior" in printed
    assert "species == " in printed
    assert (tmp_path / "plants.npz").exists()
    assert names["band"].shape == (133, 2)
    assert names["probabilities"].shape == (200, 3)


def test_the_examples_are_short_and_the_picture_is_there():
    text = README.read_text()
    for block in re.findall(r"```python\n(.*?)```", text, flags=re.S):
        assert len(block.strip().splitlines()) <= 10
    picture = re.search(r"!\[.+\]\((.+)\)", text)
    assert (README.parent / picture[1]).exists()


def test_numbers_of_the_comparison_are_those_of_the_pages():
    text = README.read_text()
    results = README.parent / "benchmarks" / "results"
    for task in ("motorcycle btgp, n = 133", "categorical Friedman btgpllm, n = 500"):
        ours, peer = re.search(rf"\| {task} \| ([\d.]+) \| (\d+) \|", (results / "rounds.md").read_text()).groups()
        assert f"{float(ours):.0f} µs | R `tgp` {peer} µs" in text
    mixing = tables((results / "mixing.md").read_text())["motorcycle btgp"]
    ours, peer = (mixing[sampler]["ESS/s E f, median"] for sampler in ("treedgp, defaults", "R tgp"))
    assert f"{ours} | R `tgp` {float(peer):.1f}" in text


def tables(page):
    """Of a page: heading -> model -> column -> cell, without the brackets."""
    made = {}
    for section in page.split("\n## ")[1:]:
        heading, _, rest = section.partition("\n\n")
        lines = [line for line in rest.splitlines() if line.startswith("|")]
        header, _, *rows = ([cell.strip() for cell in line.split("|")[1:-1]] for line in lines)
        made[heading.split(",")[0]] = {
            row[0]: {name: cell.split(" (")[0] for name, cell in zip(header, row, strict=True)} for row in rows
        }
    return made


def of_least(rows, name, score):
    """The row of a model, in the setting where the score is least."""
    return min((row for model, row in rows.items() if name in model), key=lambda row: float(row[score]))


def seconds(row):
    """Of fit and prediction, without intervals."""
    return sum(float(row[name]) for name in ("CPU s, fit", "CPU s, mean", "CPU s, predict") if name in row)


def test_numbers_of_the_python_peers_are_those_of_the_page():
    text = README.read_text()
    page = tables((README.parent / "benchmarks" / "results" / "python_peers.md").read_text())
    surface, plants, credit = (page[name] for name in page if not name.startswith("2-d"))
    for name in ("GP", "BART", "boosting", "random forest", "treedgp"):
        label = "" if name == "treedgp" else f"{name} "
        row = of_least(surface, "treedgp, defaults" if name == "treedgp" else name, "RMSE")
        assert f"{label}{row['RMSE']} in {seconds(row):.1f} s" in text
        assert f"{label}{row['covered %']}%" in text or not row["covered %"]
        row = of_least(plants, name, "log loss")
        assert f"{label}{row['log loss']} in {seconds(row):.1f} s" in text
        row = of_least(credit, name, "log loss")
        assert f"{label}{row['error %']}%, {row['log loss']}" in text
