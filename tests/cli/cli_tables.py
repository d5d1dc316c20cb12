"""What the tests of the command line share."""

import numpy as np
import pandas as pd

SHORT = ["--draws", "50", "--tune", "50", "--chains", "2", "--jobs", "1"]


def wave(n=60):
    rng = np.random.default_rng(0)
    x, kind = rng.uniform(size=n).round(3), rng.choice(["red", "blue"], n)
    y = np.where(kind == "red", np.sin(6 * x), 3 - x) + 0.1 * rng.standard_normal(n)
    return pd.DataFrame({"x": x, "kind": kind, "size": rng.integers(1, 100, n), "y": y})
