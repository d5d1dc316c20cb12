"""The demonstration: head acceleration after a motorcycle impact."""

from __future__ import annotations

import warnings

import numpy as np
from rich.console import Console
from rich.table import Table

from treedgp import ConvergenceWarning, TreedGPRegressor
from treedgp.datasets import load_motorcycle


def run_demo(seed: int) -> None:
    console = Console(width=min(80, Console().width))
    data = load_motorcycle()
    console.print(f"[bold]Motorcycle data[/bold]: {len(data.y)} head accelerations (g) against time (ms).")
    model = TreedGPRegressor(tune=2000, draws=2000, thin=5, chains=4, n_jobs=2, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the findings are printed below
        model.fit(data.X, data.y)
    posterior = model.posterior_
    console.print(f"4 chains of 12000 rounds in {posterior.timings['sampling']:.1f} s.\n")

    grid = np.linspace(data.X.min(), data.X.max(), 12)[:, None]
    mean, sd = model.predict(grid, return_std=True)
    low, high = model.predict_interval(grid, of="f").T
    table = Table("time", "mean", "90% of f", "sd of y", title="Posterior")
    for time, m, lower, upper, s in zip(grid[:, 0], mean, low, high, sd, strict=True):
        table.add_row(f"{time:.1f}", f"{m:.1f}", f"{lower:.1f} .. {upper:.1f}", f"{s:.1f}")
    console.print(table)

    counts = np.bincount(posterior.n_leaves.ravel())
    shares = {leaves: count / counts.sum() for leaves, count in enumerate(counts) if count}
    console.print("Leaves: " + ", ".join(f"{k} ({share:.0%})" for k, share in shares.items()))

    table = Table("", "mean", "sd", "R-hat", "ESS", title="Convergence")
    for name, row in posterior.summary().iterrows():
        table.add_row(
            str(name),
            f"{row['mean']:.2f}",
            f"{row['sd']:.2f}",
            f"{row['rhat']:.3f}",
            f"{row['ess_bulk']:.0f}",
        )
    console.print(table)
    for finding in posterior.health():
        console.print(f"[{'yellow' if finding.level == 'warning' else 'dim'}]{finding}[/]")
