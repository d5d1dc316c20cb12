"""One tree for all classes (OTGP) or one each (CTGP): three classes of numeric and categorical inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from classes import each, errors, fitted
from report import machine, table, write

from treedgp.datasets import make_mixed_classes
from treedgp.posterior.diagnostics import rhat

SEEDS = range(1, 6)


def row(seed: int, sharing: str) -> dict[str, Any]:
    train, test = make_mixed_classes(300, random_state=seed), make_mixed_classes(2000, random_state=1000 + seed)
    model, seconds = fitted(train.X, train.y, tree_sharing=sharing, random_state=seed)
    error, loss = errors(model.classes_, model.predict_proba(test.X), test.y)
    leaves = np.median(model.posterior_.n_leaves, axis=1)
    return {
        "tree_sharing": sharing,
        "data set": seed,
        "error %": error,
        "log loss": loss,
        "CPU s, fit": round(seconds, 1),
        "leaves in all trees, by chain": " ".join(f"{n:.0f}" for n in leaves),
        "R-hat of p(class), largest": round(max(map(rhat, model.posterior_.probe_traces.values())), 2),
    }


def main() -> None:
    rows = each(row, ((seed, sharing) for sharing in ("per_class", "shared") for seed in SEEDS))
    means = rows.drop(columns="data set").groupby("tree_sharing", as_index=False).mean(numeric_only=True)
    write(
        "shared_tree",
        "Three classes, one tree each or one for all",
        [
            machine("No peer"),
            "`make_mixed_classes(300)`, tested on 2000 other rows; the default classifier, 4 chains.",
            table(rows),
            "## Means",
            table(means.round(4)),
        ],
    )


if __name__ == "__main__":
    main()
