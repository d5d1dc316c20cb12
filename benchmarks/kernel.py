"""Time of a likelihood evaluation over its floor: matrix products at peak, exponentials at peak."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from report import machine, table, write

from treedgp import _testing  # type: ignore[attr-defined]

SIZES = (20, 50, 100, 200, 400)
TARGETS = (6.0, 2.6, 1.6, 1.17, 1.03)  # what the prototype of the kernel reached


def seconds_per_flop(n: int = 768, repeats: int = 20) -> float:
    """Of a matrix product in one thread; the best of many."""
    a, best = np.random.default_rng(0).random((n, n)), np.inf
    for _ in range(repeats):
        begin = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - begin)
    return best / (2 * n**3)


def main() -> None:
    isas = [isa for isa in _testing.kernel.isas() if isa != "scalar"]
    flop = seconds_per_flop()
    # Exponentials at peak: the correlation of one input, whose distances cost next to nothing, at n = 400.
    best = isas[-1] if "avx512" not in isas else "avx512"
    per_exp = _testing.kernel.time_likelihood(best, 400, 1, 200)[1] / (400 * 401 / 2)
    rows = []
    for n, target in zip(SIZES, TARGETS, strict=True):
        floor = n**3 / 3 * flop + n * (n + 1) / 2 * per_exp
        row = {"n": n, "floor, us": f"{1e6 * floor:.2f}"}
        for isa in isas:
            whole, _ = _testing.kernel.time_likelihood(isa, n, 2, max(200, int(2e9 / n**3)) if n < 300 else 200)
            row[f"{isa}, us"] = f"{1e6 * whole:.2f}"
            row[f"{isa} / floor"] = f"{whole / floor:.2f}"
        row["prototype / floor"] = target
        rows.append(row)
    note = (
        f"P = 2, four extra rows. One thread: matrix product {1e-9 / flop:.1f} Gflop/s, exponential "
        f"{1e9 * per_exp:.2f} ns. The floor is n^3/3 flops and n^2/2 exponentials at those rates."
    )
    write(
        "kernel",
        "The leaf kernel over its floor",
        [machine("NumPy's BLAS is the peer"), note, table(pd.DataFrame(rows))],
    )


if __name__ == "__main__":
    main()
