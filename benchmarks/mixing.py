"""Effective samples per CPU second, four chains each, against R's tgp in the same run."""

from __future__ import annotations

import numpy as np
import pandas as pd
from peers import has_tgp, run_tgp
from report import machine, table, write
from tasks import Task, exp2d, motorcycle, sample

from treedgp import Priors
from treedgp.posterior.diagnostics import ess_bulk, rhat

CHAINS, TUNE, ROUNDS = 4, 2000, 20000


def figures(name: str, log_posterior: np.ndarray, leaves: np.ndarray, means: np.ndarray, cpu: float) -> dict[str, str]:
    """Traces are (chain, draw); means (chain, draw, probe)."""
    by_probe = [ess_bulk(means[:, :, i]) / cpu for i in range(means.shape[2])]
    worst = np.nanmax([rhat(log_posterior), rhat(leaves)])

    def show(ess: float) -> str:
        return ("unreliable: " if worst > 1.1 else "") + ("no change" if np.isnan(ess) else f"{ess:.3g}")

    return {
        "sampler": name,
        "CPU s": f"{cpu:.1f}",
        "ESS/s log posterior": show(ess_bulk(log_posterior) / cpu),
        "ESS/s E f, median": show(float(np.median(by_probe))),
        "ESS/s E f, least": show(float(np.min(by_probe))),
        "ESS/s leaves": show(ess_bulk(leaves) / cpu),
        "R-hat log posterior": f"{rhat(log_posterior):.3f}",
        "R-hat leaves": f"{rhat(leaves):.3f}",
        "mean leaves a chain": " ".join(f"{m:.2f}" for m in leaves.mean(axis=1)),
    }


def ours(task: Task, name: str, priors: Priors, tune: int, **options: float) -> dict[str, str]:
    draws, means, cpu = sample(task, priors, CHAINS, ROUNDS, tune, **options)
    return figures(name, draws.log_posterior, draws.n_leaves, means, cpu)


def theirs(task: Task) -> tuple[dict[str, str], str]:
    runs = [
        run_tgp(task.X, task.y, task.model, (TUNE, TUNE + ROUNDS, 2), seed + 1, task.probes()) for seed in range(CHAINS)
    ]
    traces = np.stack([run.traces.to_numpy() for run in runs])
    cpu = sum(run.cpu for run in runs)
    return figures("R tgp", traces[:, :, 1], traces[:, :, 0], traces[:, :, 2:], cpu), runs[0].version


def main() -> None:
    peer = has_tgp()
    version = "R tgp is not installed: ours alone (apt-get install r-cran-tgp libopenblas0-serial)"
    parts = []
    for task in (exp2d(), motorcycle()):
        rows = [
            ours(task, "treedgp, defaults", Priors(), TUNE),
            ours(
                task, "treedgp, trees from the prior, no annealing", Priors(), 10 * TUNE, prior_tree=True, anneal=False
            ),
        ]
        if peer:
            row, version = theirs(task)
            rows.append(row)
        parts += [f"## {task.name}", table(pd.DataFrame(rows))]
    note = (
        f"{CHAINS} chains of {TUNE} + {ROUNDS} rounds (without annealing {10 * TUNE} + {ROUNDS}); CPU of all rounds "
        "counts, tuning included. tgp with its defaults, kept every second round, CPU of the whole fit with traces at "
        "the five probes. Its log posterior is of the sampled beta and sigma2, ours integrates them out. Where R-hat "
        "of a side exceeds 1.1 its effective sizes are printed as unreliable."
    )
    write("mixing", "Effective samples per CPU second", [machine(version), note, *parts])


if __name__ == "__main__":
    main()
