"""Whether the chains give a reason to distrust the fit, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from treedgp.posterior.health import Finding


@dataclass(frozen=True)
class Verdict:
    """`level` is "good", "unchecked" (a single chain has nothing to disagree with) or "bad"."""

    level: Literal["good", "unchecked", "bad"]
    title: str
    text: str
    findings: Sequence[Finding]


def verdict(posterior: Any) -> Verdict:
    """Of a fitted model's `posterior_`."""
    findings = posterior.health()
    text = _numbers(posterior)
    if any(finding.level == "warning" for finding in findings):
        return Verdict("bad", "Do not trust this fit yet", text, findings)
    if len(posterior.log_posterior) == 1:
        return Verdict("unchecked", "Agreement between chains was not checked", text, findings)
    return Verdict("good", "The chains agree", text, findings)


def _numbers(posterior: Any) -> str:
    summary = posterior.summary()
    rhat, ess = summary["rhat"], np.fmin(summary["ess_bulk"], summary["ess_tail"])
    chains, draws = posterior.log_posterior.shape
    parts = [f"{chains} chain{'s' if chains > 1 else ''} of {draws} draws"]
    if rhat.notna().any():
        parts.append(f"R-hat at most {rhat.max():.3f}")
    if ess.notna().any():
        parts.append(f"at least {ess.min():.0f} effective draws")
    return ", ".join(parts) + "."
