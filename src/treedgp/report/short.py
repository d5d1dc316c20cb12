"""The few lines that a notebook shows."""

from __future__ import annotations

from html import escape
from typing import Any

from treedgp.plot.fitted import Fitted
from treedgp.report import words
from treedgp.report.verdict import verdict

COLOURS = {"good": "#009e73", "unchecked": "#e69f00", "bad": "#d55e00"}
SHOWN = 5  # columns


def short_form(model: Any) -> str:
    """Verdict and summary of a fitted model as HTML; needs neither matplotlib nor jinja2."""
    fitted = Fitted.of(model)
    found = verdict(model.posterior_)
    warnings = [str(finding) for finding in found.findings if finding.level == "warning"]
    lines = [found.text, *warnings, words.data_in_words(fitted)]
    if fitted.has_tree:
        lines += [f"Trees have {words.leaves_in_words(fitted)}", *_splits(fitted)]
    lines.append(f"Sampling took {model.posterior_.timings['sampling']:.1f} s.")
    body = "".join(f"<div>{escape(line)}</div>" for line in lines)
    frame = f"border-left: 4px solid {COLOURS[found.level]}; padding: 0.2em 0 0.2em 0.8em; margin: 0.4em 0"
    return f'<div style="{frame}"><strong>{escape(type(model).__name__)}: {escape(found.title)}</strong>{body}</div>'


def _splits(fitted: Fitted) -> list[str]:
    """Nothing if trees seldom or never split."""
    shares = fitted.frequencies.mean(axis=1).sort_values(ascending=False, kind="stable")
    shares = shares[shares >= 0.005]  # the others would be 0%
    shown = [f"{name} ({share:.0%})" for name, share in shares[:SHOWN].items()]
    return [f"They split on {', '.join(shown)}{', …' if len(shares) > SHOWN else '.'}"] if shown else []
