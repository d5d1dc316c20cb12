"""R's tgp, run in a process of its own; one thread."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

SCRIPT = Path(__file__).parent / "tgp.R"
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@dataclass(frozen=True)
class TgpRun:
    cpu: float  # seconds, of the fit alone
    traces: pd.DataFrame | None  # leaves, log_posterior, E f(x) at each x
    version: str


def has_tgp() -> bool:
    if shutil.which("Rscript") is None:
        return False
    probe = subprocess.run(["Rscript", "-e", "library(tgp)"], capture_output=True, check=False)
    return probe.returncode == 0


def run_tgp(
    X: np.ndarray,
    y: np.ndarray,
    model: str,
    bte: tuple[int, int, int],
    seed: int = 1,
    xx: np.ndarray | None = None,
    basemax: int | None = None,
    splitmin: int | None = None,
) -> TgpRun:
    """`bte` is tgp's burn-in, total rounds (burn-in included) and thinning."""
    with tempfile.TemporaryDirectory() as folder:
        data, where, out = (str(Path(folder) / name) for name in ("data.csv", "xx.csv", "traces.csv"))
        pd.DataFrame(np.column_stack([X, y])).to_csv(data, index=False)
        if xx is not None:
            pd.DataFrame(xx).to_csv(where, index=False)
        arguments = [data, "none" if xx is None else where, model, *map(str, bte), str(seed), out]
        arguments += [str(basemax or "none"), str(splitmin or "none")]
        done = subprocess.run(
            ["Rscript", str(SCRIPT), *arguments],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **ONE_THREAD},
        )
        facts = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("cpu", "version")))
        return TgpRun(float(facts["cpu"]), None if xx is None else pd.read_csv(out), facts["version"])
