"""Effective samples per CPU second, four chains each, against R's tgp in the same run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from peers import has_tgp, run_tgp
from report import machine, table, write
from tasks import Task, exp2d, motorcycle, sample

from treedgp import Priors
from treedgp.posterior.diagnostics import ess_bulk, rhat
from treedgp.posterior.draws import Draws

CHAINS, TUNE = 4, 2000
ROUNDS, THIN = 100_000, 5  # ours; the four chains take less than 60 s of CPU
TGP_ROUNDS = 20_000


def figures(log_posterior: np.ndarray, leaves: np.ndarray, means: np.ndarray, cpu: float) -> dict[str, float]:
    """Traces are (chain, draw); means (chain, draw, probe)."""
    by_probe = [ess_bulk(means[:, :, i]) / cpu for i in range(means.shape[2])]
    return {
        "CPU s": cpu,
        "ESS/s log posterior": ess_bulk(log_posterior) / cpu,
        "ESS/s E f, median": float(np.median(by_probe)),
        "ESS/s E f, least": float(np.min(by_probe)),
        "ESS/s leaves": ess_bulk(leaves) / cpu,
        "R-hat log posterior": rhat(log_posterior),
        "R-hat leaves": rhat(leaves),
    }


def row(name: str, sets: list[dict[str, float]]) -> dict[str, str]:
    """Median over sets of four chains; a quantity that never moved is left out of its median."""
    frame = pd.DataFrame(sets)
    worst = frame[["R-hat log posterior", "R-hat leaves"]].max(axis=1)
    median = frame.median()
    unreliable = "unreliable: " if worst.median() > 1.1 else ""
    cells = {c: f"{unreliable if 'ESS' in c else ''}{median[c]:.3g}" for c in frame.columns if "R-hat" not in c}
    cells |= {c: f"{median[c]:.3f}" for c in frame.columns if "R-hat" in c}
    return {"sampler": name, **cells, "sets with an R-hat above 1.05": f"{(worst > 1.05).sum()} of {len(sets)}"}


def ours(task: Task, name: str, tune: int, n_sets: int, **options: Any) -> tuple[dict[str, str], Draws]:
    """Figures of the sets, and the draws of the last."""
    sets = []
    for seed in range(1, n_sets + 1):
        draws, means, cpu = sample(task, Priors(), CHAINS, ROUNDS, tune, seed, thin=THIN, **options)
        sets.append(figures(draws.log_posterior, draws.n_leaves, means, cpu))
    return row(name, sets), draws


def agreement(one: Draws, other: Draws) -> str:
    """R-hat over the chains of both together."""
    together = [
        rhat(np.concatenate(pair))
        for pair in ((one.log_posterior, other.log_posterior), (one.n_leaves, other.n_leaves))
    ]
    return (
        "The eight chains of two sets, one of each kind of ours, taken together: R-hat of the log posterior "
        f"{together[0]:.3f}, of the leaves {together[1]:.3f}."
    )


def theirs(task: Task) -> tuple[dict[str, str], str]:
    runs = [
        run_tgp(task.X, task.y, task.model, (TUNE, TUNE + TGP_ROUNDS, 2), seed + 1, task.probes())
        for seed in range(CHAINS)
    ]
    traces = np.stack([run.traces.to_numpy() for run in runs if run.traces is not None])
    cpu = sum(run.cpu for run in runs)
    return row("R tgp", [figures(traces[:, :, 1], traces[:, :, 0], traces[:, :, 2:], cpu)]), runs[0].version


def main() -> None:
    peer = has_tgp()
    version = "R tgp is not installed: ours alone (apt-get install r-cran-tgp libopenblas0-serial)"
    parts = []
    for task in (exp2d(), motorcycle()):
        default, annealed = ours(task, "treedgp, defaults", TUNE, 5)
        name = "treedgp, trees from the prior, no annealing"
        plain, from_prior = ours(task, name, 10 * TUNE, 2, prior_tree=True, anneal=False)
        rows = [default, plain]
        if peer:
            peer_row, version = theirs(task)
            rows.append(peer_row)
        parts += [f"## {task.name}", table(pd.DataFrame(rows)), agreement(annealed, from_prior)]
    note = (
        f"Sets of {CHAINS} chains of {TUNE} + {ROUNDS} rounds (without annealing {10 * TUNE} + {ROUNDS}), of which "
        f"every {THIN}th is kept; CPU of all rounds counts, tuning included. tgp with its defaults, {TUNE} + "
        f"{TGP_ROUNDS} rounds, every second kept, CPU of the whole fit with traces at the five probes. Medians over "
        "sets. Its log posterior is of the sampled beta and sigma2, ours integrates them out. Where the median R-hat "
        "of a side exceeds 1.1 its effective sizes are called unreliable."
    )
    write("mixing", "Effective samples per CPU second", [machine(version), note, *parts])


if __name__ == "__main__":
    main()
