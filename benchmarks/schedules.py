"""Effective samples per CPU second under other schedules: why the defaults are what they are."""

from __future__ import annotations

from typing import Any

import pandas as pd
from mixing import ROUNDS, TUNE, ours
from report import machine, table, write
from tasks import TGP_WORK, exp2d, motorcycle

SCHEDULES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "tgp's work a round": TGP_WORK,
    "one tree move a round": {"tree_moves": 1.0},
    "eight tree moves a round": {"tree_moves": 8.0},
    "one range move a leaf and round": {"range_moves": 1.0},
    "four range moves a leaf and round": {"range_moves": 4.0},
    "grow and prune 70% of tree moves": {"weights": (0.35, 0.35, 0.1, 0.1, 0.05, 0.05)},
}


def main() -> None:
    parts = [machine("No peer"), f"Two sets of four chains of {TUNE} + {ROUNDS} rounds; columns as in `mixing.md`."]
    for task in (exp2d(), motorcycle()):
        rows = [ours(task, name, TUNE, 2, **options)[0] for name, options in SCHEDULES.items()]
        parts += [f"## {task.name}", table(pd.DataFrame(rows).rename(columns={"sampler": "schedule"}))]
    write("schedules", "Other schedules", parts)


if __name__ == "__main__":
    main()
