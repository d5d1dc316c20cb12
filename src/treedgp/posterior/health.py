"""What a fit's diagnostics say, in words."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treedgp.errors import ConvergenceWarning, frames_to_the_user
from treedgp.posterior.diagnostics import CHAINS_DISAGREE, NO_CHANGE, NOT_FINITE, TOO_FEW_DRAWS, Description
from treedgp.words import listed

RHAT_LIMIT = 1.05
ESS_A_CHAIN = 25
SHOWN = 6  # quantities in a finding


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing. `level` is "info" or "warning"; `advice` says what to do."""

    level: str
    text: str
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.text} {self.advice}".strip()


def examine(
    descriptions: Sequence[Description],
    n_chains: int,
    tree_changes: NDArray[np.int64] | None,
    failed_share: float,
) -> list[Finding]:
    """Findings about a fit; `tree_changes` (chain) is None where the model has no tree."""
    findings = []
    if n_chains == 1:
        findings.append(Finding("info", "One chain: agreement between chains was not checked.", "Use chains=4."))
    still = [d.name for d in descriptions if d.note == NO_CHANGE]
    if still:
        findings.append(Finding("info", f"No change seen in {listed(still, SHOWN)}: R-hat and ESS are not estimable."))
    apart = [d for d in descriptions if d.rhat > RHAT_LIMIT or d.note == CHAINS_DISAGREE]
    if apart:
        apart.sort(key=lambda d: -d.rhat)
        worst = listed([f"{d.name} (R-hat {d.rhat:.2f})" for d in apart], SHOWN)
        findings.append(
            Finding(
                "warning",
                f"The chains disagree: {worst}.",
                "Raise tune and draws, or look at each chain's trees.",
            )
        )
    for note in (NOT_FINITE, TOO_FEW_DRAWS):
        unjudged = [d.name for d in descriptions if d.note == note]
        if unjudged:
            text = f"No diagnostics for {listed(unjudged, SHOWN)}: {note}."
            findings.append(Finding("warning", text, "Raise draws." if note == TOO_FEW_DRAWS else ""))
    need = ESS_A_CHAIN * n_chains
    few = [d for d in descriptions if min(d.ess_bulk, np.inf if np.isnan(d.ess_tail) else d.ess_tail) < need]
    if few:
        few.sort(key=lambda d: np.fmin(d.ess_bulk, d.ess_tail))
        worst = listed([f"{d.name} ({np.fmin(d.ess_bulk, d.ess_tail):.0f})" for d in few], SHOWN)
        findings.append(Finding("warning", f"Few effective draws (want {need}): {worst}.", "Raise draws or thin."))
    if tree_changes is not None:
        findings.append(Finding("info", f"Tree changes per chain: {', '.join(map(str, tree_changes))}."))
        if (tree_changes == 0).any():
            findings.append(
                Finding(
                    "warning",
                    f"{int((tree_changes == 0).sum())} of {n_chains} chains never changed their tree after tuning.",
                    "Their spread does not show how uncertain the tree is; run longer.",
                )
            )
    if failed_share > 0.01:
        findings.append(
            Finding(
                "warning",
                f"{failed_share:.1%} of the matrices proposed did not factorise.",
                "Duplicate rows with a tiny nugget do that; use a nugget prior away from 0.",
            )
        )
    return findings


def warn_once(findings: Sequence[Finding]) -> None:
    """All warnings as one ConvergenceWarning."""
    texts = [str(f) for f in findings if f.level == "warning"]
    if texts:
        warnings.warn(
            "\n".join(["Do not trust this fit yet.", *texts]), ConvergenceWarning, stacklevel=frames_to_the_user()
        )
