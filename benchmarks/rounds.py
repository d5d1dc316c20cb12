"""Microseconds a round, doing tgp's work, against R's tgp in the same run."""

from __future__ import annotations

import numpy as np
import pandas as pd
from peers import has_tgp, run_tgp
from report import machine, table, write
from tasks import FLAT, TGP_WORK, Task, exp2d, friedman, motorcycle, one_leaf, rounds_per_second

from treedgp.sampling.chain import start_chain

REPEATS = 3


def ours(task: Task, tune: int, rounds: int) -> float:
    """Median microseconds a round after tuning."""
    problem = task.problem(FLAT, tune=tune, thin=rounds, **TGP_WORK)
    _, chain = rounds_per_second(problem, start_chain(problem, 1, 0), tune)
    times = []
    for _ in range(REPEATS):
        seconds, chain = rounds_per_second(problem, chain, rounds)
        times.append(1e6 * seconds)
    return float(np.median(times))


def theirs(task: Task, tune: int, rounds: int) -> tuple[float, str]:
    """Microseconds a round: the difference of a long and a short run, which cancels the set-up."""
    inputs = task.X if task.tgp_inputs is None else task.tgp_inputs
    times, version = [], ""
    for repeat in range(REPEATS):
        short, long = (
            run_tgp(inputs, task.y, task.model, (tune, tune + n, n), repeat + 1, **task.tgp_options)
            for n in (rounds // 10, rounds)
        )
        times.append(1e6 * (long.cpu - short.cpu) / (rounds - rounds // 10))
        version = long.version
    return float(np.median(times)), version


def main() -> None:
    plan = [(exp2d(), 2000, 20000), (motorcycle(), 2000, 10000), (friedman(), 2000, 3000)]
    for n in (20, 50, 100, 200, 400, 800):
        plan.append((one_leaf(n), 50, max(60, min(100_000, int(4e9 / n**3)))))
    peer, rows = has_tgp(), []
    version = "R tgp is not installed: ours alone (apt-get install r-cran-tgp libopenblas0-serial)"
    for task, tune, rounds in plan:
        mine = ours(task, tune, rounds)
        row = {"task": task.name, "treedgp, us": f"{mine:.1f}"}
        if peer:
            other, version = theirs(task, tune, rounds)
            row |= {"R tgp, us": f"{other:.0f}", "ratio": f"{other / mine:.1f}"}
        rows.append(row)
        print(row, flush=True)
    note = (
        "A round does the same work on both sides: one range proposal and half a nugget proposal a leaf, a tree move "
        "in every fourth round, flat coefficient prior; states are kept rarely. Trees differ between the two, as their "
        "samplers do."
    )
    write("rounds", "Time of a round", [machine(version), note, table(pd.DataFrame(rows))])


if __name__ == "__main__":
    main()
