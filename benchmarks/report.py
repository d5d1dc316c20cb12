"""Writes a result page: what was measured, on what, when."""

from __future__ import annotations

import datetime
import platform
from pathlib import Path

import numpy as np
import pandas as pd

import treedgp
import treedgp._core as _core

RESULTS = Path(__file__).parent / "results"


def cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def machine(peer: str) -> str:
    return (
        f"{datetime.date.today()}. {cpu_name()}, kernel {_core.isa()}. treedgp {treedgp.__version__}, "
        f"numpy {np.__version__}. {peer}. One thread each, CPU time, both sides in the same run."
    )


def table(frame: pd.DataFrame) -> str:
    rows = [list(map(str, frame.columns)), ["---"] * len(frame.columns)]
    rows += [[str(v) for v in row] for row in frame.itertuples(index=False)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def write(name: str, title: str, parts: list[str]) -> None:
    text = "\n\n".join([f"# {title}", *parts]) + "\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(text)
    print(text, flush=True)
