"""Tables and numbers of the pages."""

import math

import pytest

from treedgp.experiments.markdown import number, seconds, table, versions


def test_a_table_is_markdown():
    assert table(["model", "error"], [["a|b", "1.0"], ["c", "-"]]).splitlines() == [
        "| model | error |",
        "| :-- | --: |",
        "| a\\|b | 1.0 |",
        "| c | - |",
    ]


def test_a_ragged_table_is_refused():
    with pytest.raises(ValueError, match="1 cells, the header 2"):
        table(["model", "error"], [["a"]])


@pytest.mark.parametrize(("value", "text"), [(1.005, "1.00"), (None, "-"), (math.nan, "-"), (-0.5, "-0.50")])
def test_numbers(value, text):
    assert number(value) == text


@pytest.mark.parametrize(("values", "text"), [([0.25, 0.75], "0.50"), ([46.29], "46.3"), ([100, 300], "200")])
def test_seconds_have_the_digits_that_matter(values, text):
    assert seconds(values) == text


def test_versions_name_the_packages():
    assert "treedgp " in versions()
    assert "scikit-learn " in versions()
