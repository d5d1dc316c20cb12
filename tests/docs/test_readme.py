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
    rounds = (README.parent / "benchmarks" / "results" / "rounds.md").read_text()
    assert "| motorcycle btgp, n = 133 | 17.6 | 481 |" in rounds
    assert "18 µs | R `tgp` 481 µs" in text
    assert "| categorical Friedman btgpllm, n = 500 | 145.8 | 2416 |" in rounds
    assert "146 µs | R `tgp` 2416 µs" in text
    paper = (README.parent / "docs" / "paper.md").read_text()
    assert "| btgp3, llm | as btgp3 | | 0.50 | 0.97 |" in paper
    assert "| HistGradientBoosting | a category | | 1.35 | 0.09 |" in paper
    assert "0.50 | scikit-learn: GP 0.93, boosting 1.35, random forest 1.52" in text
