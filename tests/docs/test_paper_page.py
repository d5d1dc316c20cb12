"""The paper page: its code runs and gives what the page says."""

import re
from pathlib import Path

import pytest

from treedgp.experiments import friedman
from treedgp.experiments.job import RunLength

PAGE = Path(__file__).parents[2] / "docs" / "paper.md"


@pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")
def test_code_blocks_show_what_the_page_claims(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(friedman, "length", lambda settings: RunLength(10, 5, 2, 1))
    names: dict[str, object] = {"__name__": "page"}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S):
        exec(compile(block, str(PAGE), "exec"), names)
    assert len(names["result"].rows) == 2
    for (rmse, leaves), (rmse_of_few, leaves_of_few) in zip(*names["bcart"].values(), strict=True):
        assert rmse < rmse_of_few
        assert leaves > leaves_of_few
    assert names["reversed_gap"] < 1e-12
    assert names["printed_gap"] > 4
    assert "linearly independent" in names["refusal"]
    assert names["best_cut"] == pytest.approx((0, 0), abs=0.05)
    share = names["share"]
    assert share["observed class"] == pytest.approx(share["exact"], abs=0.01)
    assert share["as printed"] == pytest.approx(1 - share["exact"], abs=0.01)
