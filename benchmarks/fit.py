"""What a user waits for besides the rounds: import, prediction, memory, and what a second core brings."""

from __future__ import annotations

import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from report import machine, table, write

from treedgp import ConvergenceWarning, TreedGPRegressor
from treedgp.datasets import make_friedman_categorical

IMPORT = """
import time
import numpy, scipy.special, scipy.stats, scipy.fft, sklearn.base, sklearn.utils.validation, pandas
began = time.perf_counter()
import treedgp
print(time.perf_counter() - began)
"""


def fit(n_jobs: int, chains: int, draws: int) -> tuple[TreedGPRegressor, float]:
    data = make_friedman_categorical(500, random_state=1)
    model = TreedGPRegressor(
        categorical_features=[10],
        split_features="categorical",
        tune=1000,
        draws=draws,
        chains=chains,
        n_jobs=n_jobs,
        random_state=1,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(data.X, data.y)
    return model, model.posterior_.timings["sampling"]


def main() -> None:
    imports = [float(subprocess.check_output([sys.executable, "-c", IMPORT])) for _ in range(3)]
    one, two = (min(fit(n_jobs, 2, 2000)[1] for _ in range(2)) for n_jobs in (1, 2))
    model, sampling = fit(2, 4, 1000)
    test = make_friedman_categorical(1000, random_state=2)
    began = time.perf_counter()
    model.predict(test.X, return_std=True)
    predicting = time.perf_counter() - began
    size = sum(a.nbytes for a in model.posterior_.draws.arrays.values())
    rows = [
        ("import, beyond numpy, scipy, scikit-learn and pandas", f"{np.median(imports):.3f} s"),
        ("two chains of 3000 rounds, one core and two", f"{one:.2f} s and {two:.2f} s: {one / two:.2f} times"),
        ("four chains of 2000 rounds, two cores", f"{sampling:.2f} s"),
        ("mean and sd at 1000 new rows from those 4000 draws, two cores", f"{predicting:.2f} s"),
        ("memory of those 4000 draws", f"{size / 1e6:.1f} MB"),
    ]
    note = "Categorical Friedman data, n = 500 in four leaves, 10 numeric inputs, default schedule; wall-clock time."
    write("fit", "A fit as the user sees it", [machine("No peer"), note, table(pd.DataFrame(rows, columns=["", " "]))])


if __name__ == "__main__":
    main()
