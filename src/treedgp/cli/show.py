"""What a person reads on a terminal, and a machine as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from treedgp.report.verdict import Verdict, verdict

WIDTH = 80
MOST_SPLITS = 10  # columns in the table of splits


def results() -> Console:
    """Standard output. Names from the user's file are no markup."""
    return Console(width=min(WIDTH, Console().width), markup=False, highlight=False)


def messages() -> Console:
    """Standard error."""
    return Console(stderr=True, width=min(WIDTH, Console(stderr=True).width), markup=False, highlight=False)


def print_json(value: Any) -> None:
    print(json.dumps(_plain(value), allow_nan=False))


def described(model: Any) -> dict[str, Any]:
    """A fitted model for machines."""
    posterior = model.posterior_
    chains, draws = posterior.n_leaves.shape
    splits = {target: posterior.split_frequencies(target).to_dict() for target in posterior.tree_targets}
    return {
        "chains": chains,
        "draws": draws,
        "seconds": posterior.timings["sampling"],
        "leaves": float(np.mean(posterior.n_leaves)),
        "summary": posterior.summary().reset_index().to_dict(orient="records"),
        "split_frequencies": splits[None] if None in splits else {str(of): shares for of, shares in splits.items()},
        "health": [{"level": f.level, "text": f.text, "advice": f.advice} for f in posterior.health()],
    }


def print_model(console: Console, model: Any) -> None:
    """Convergence, splits, the best trees and the findings."""
    posterior = model.posterior_
    console.print(_convergence(posterior))
    for target in posterior.tree_targets if posterior.has_tree else ():
        suffix = "" if target is None else f" of class {target}"
        frequencies = posterior.split_frequencies(target).sort_values(ascending=False)
        if (frequencies > 0).any():
            console.print(_splits(frequencies, f"Columns that split the tree{suffix}"))
        console.print(f"\nThe most probable tree{suffix}:", style="bold")
        console.print(str(posterior.map_tree(target)), soft_wrap=True)
    console.print()
    print_findings(console, verdict(posterior))


def print_findings(console: Console, judged: Verdict) -> None:
    grid = Table.grid(padding=(0, 1))
    for finding in judged.findings:
        is_warning = finding.level == "warning"
        grid.add_row("!" if is_warning else "-", str(finding), style="yellow" if is_warning else "dim")
    console.print(grid)
    console.print(f"{judged.title}.", style={"good": "green", "unchecked": "none", "bad": "bold yellow"}[judged.level])


def _convergence(posterior: Any) -> Table:
    table = Table(title="Convergence", title_justify="left")
    table.add_column("")
    for name in ("mean", "sd", "R-hat", "ESS", "tail ESS"):
        table.add_column(name, justify="right")
    for name, row in posterior.summary().iterrows():
        numbers = (number(row["mean"]), number(row["sd"]), number(row["rhat"], ".3f"))
        table.add_row(str(name), *numbers, number(row["ess_bulk"], ".0f"), number(row["ess_tail"], ".0f"))
    return table


def _splits(frequencies: Any, title: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column("column", overflow="ellipsis", no_wrap=True, max_width=50)
    table.add_column("share of draws", justify="right")
    shown = frequencies[frequencies > 0].iloc[:MOST_SPLITS]
    for name, share in shown.items():
        table.add_row(str(name), f"{share:.0%}" if share >= 0.005 else "< 1%")
    if len(frequencies) > len(shown):
        table.add_row(f"({len(frequencies) - len(shown)} more)", "fewer")
    return table


def number(value: float, form: str = ".4g") -> str:
    return format(value, form) if math.isfinite(value) else "-"


def _plain(value: Any) -> Any:
    """JSON has neither NaN nor NumPy's types."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
