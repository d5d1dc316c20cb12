"""The page."""

from __future__ import annotations

import os
import time
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd

from treedgp.plot.fitted import Fitted
from treedgp.posterior import io
from treedgp.report import figures, words
from treedgp.report.verdict import verdict


def write_report(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write a fitted model as one HTML page that needs nothing else, and no network; returns its path.

    Convergence verdict, data and model in words, importance, trees by height, partition and surfaces, traces,
    calibration, timings, code. Needs the extra `treedgp[report]`.
    """
    io.check_path(path)  # better known before the pictures are drawn
    page, target = render(Fitted.of(model)), Path(path)
    target.write_text(page, encoding="utf-8")
    return target


def render(fitted: Fitted) -> str:
    try:
        from jinja2 import Environment, StrictUndefined
    except ImportError as error:
        raise ImportError(
            "The report needs jinja2, which is not installed; run: pip install 'treedgp[report]'"
        ) from error
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    package = resources.files(__package__)
    template = environment.from_string(package.joinpath("page.html.j2").read_text(encoding="utf-8"))
    return template.render(style=package.joinpath("page.css").read_text(encoding="utf-8"), **_content(fitted))


def _content(fitted: Fitted) -> dict[str, Any]:
    began = time.perf_counter()
    model, posterior = fitted.model, fitted.model.posterior_
    content = {
        "name": type(model).__name__,
        "made": time.strftime("%Y-%m-%d %H:%M"),
        "verdict": verdict(posterior),
        "has_tree": fitted.has_tree,
        "is_classifier": fitted.is_classifier,
        "has_latents": fitted.spec.has_latents,
        "leaves_use_columns": fitted.leaves_use_columns,
        "data": words.data_in_words(fitted),
        "columns": words.column_table(fitted),
        "model": words.model_in_words(fitted),
        "leaves": words.leaves_in_words(fitted),
        "settings": words.settings(fitted),
        "importance": figures.importance(fitted) if fitted.has_tree else [],
        "trees": list(figures.trees(fitted)) if fitted.has_tree else [],
        "trees_left_out": figures.trees_left_out(fitted),
        "surfaces": [*figures.regions(fitted), *figures.effects(fitted)],
        "traces": list(figures.traces(fitted)),
        "check": figures.check(fitted),
        "summary": _summary_rows(posterior.summary()),
        "acceptance": _acceptance_rows(posterior.acceptance()),
        "code": words.code_in_words(fitted),
        "versions": words.versions(fitted),
    }
    timings = {**posterior.timings, "this report": time.perf_counter() - began}
    return {**content, "timings": {name: f"{seconds:.1f} s" for name, seconds in timings.items()}}


def _summary_rows(summary: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {
            "": str(name),
            "mean": words.number(row["mean"]),
            "sd": words.number(row["sd"]),
            "5%": words.number(row["q5"]),
            "95%": words.number(row["q95"]),
            "R-hat": _number(row["rhat"], ".3f"),
            "ESS bulk": _number(row["ess_bulk"], ".0f"),
            "ESS tail": _number(row["ess_tail"], ".0f"),
        }
        for name, row in summary.iterrows()
    ]


def _acceptance_rows(acceptance: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {"move": str(move), "proposed": f"{row['attempted']:,.0f}", "accepted": f"{row['rate']:.1%}"}
        for move, row in acceptance.iterrows()
    ]


def _number(value: float, form: str) -> str:
    return "–" if pd.isna(value) else format(value, form)
