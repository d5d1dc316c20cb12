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
    assert "kind == " in printed
    assert (tmp_path / "friedman.npz").exists()
    assert names["band"].shape == (133, 2)
