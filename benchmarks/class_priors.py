"""How the classifier's default priors were chosen: log loss on data sets that are not reported anywhere else.

The amplitude of the latents, their nugget and their ranges are varied, everything else is as by default. Real sets come
with scikit-learn; synthetic ones have smooth, curved and cornered boundaries, with and without noise.
"""

from __future__ import annotations

import itertools
import os
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from report import machine, table, write
from sklearn import datasets as sets
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from treedgp import CoefficientPrior, LengthscalePrior, NoisePrior, NuggetPrior, Priors, TreedGPClassifier
from treedgp.datasets import make_mixed_classes
from treedgp.posterior.diagnostics import rhat


def one_kind(shape: float, rate: float) -> LengthscalePrior:
    return LengthscalePrior(weights=(1.0,), shapes=(shape,), rates=(rate,))


RANGES = {  # d of exp(-r^2 / d), inputs scaled to [0, 1]
    "half G(1, 20), half G(10, 10)": LengthscalePrior(),
    "half G(1, 20), half G(2, 1)": LengthscalePrior(shapes=(1.0, 2.0), rates=(20.0, 1.0)),
    **{f"G({shape:g}, {rate:g})": one_kind(shape, rate) for shape, rate in ((1, 1), (1, 2), (1, 4), (1.5, 2), (2, 2))},
}
PACKAGE, CHOSEN = "half G(1, 20), half G(10, 10)", "G(1, 2)"
# Scale A of sigma ~ half-t with 5 degrees of freedom; rate of the nugget; law of ranges.
SETTINGS = [
    *((amplitude, 1000.0, PACKAGE) for amplitude in (3.0, 10.0)),
    *((amplitude, 1000.0, ranges) for amplitude in (30.0, 100.0) for ranges in RANGES),
    (300.0, 1000.0, CHOSEN),
    *((100.0, nugget_rate, CHOSEN) for nugget_rate in (100.0, 10000.0)),
]
NAMES = ["amplitude", "nugget rate", "ranges"]
SPLITS = 3
RUN: dict[str, Any] = {"chains": 2, "tune": 500, "draws": 300}


@dataclass(frozen=True, eq=False)
class Set:
    name: str
    train: int
    X: Any
    y: np.ndarray


def plane(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-1, 1, size=(n, 2))


def all_sets() -> list[Set]:
    rng = np.random.default_rng(0)
    squares, rings, wedge, flipped = (plane(1200, rng) for _ in range(4))
    turn = rng.uniform(0.5, 2.5, 1200) * np.pi
    arm = rng.integers(2, size=1200)
    spiral = np.column_stack([turn * np.cos(turn + np.pi * arm), turn * np.sin(turn + np.pi * arm)])
    xor = (flipped[:, 0] > 0) ^ (flipped[:, 1] > 0.2)
    mixed = make_mixed_classes(800, random_state=5)
    cancer = sets.load_breast_cancer()
    return [
        Set("iris", 80, *sets.load_iris(return_X_y=True)),
        Set("wine", 80, *sets.load_wine(return_X_y=True)),
        Set("breast cancer, 8 columns", 120, cancer.data[:, :8], cancer.target),
        Set("moons, noise 0.3", 150, *sets.make_moons(1200, noise=0.3, random_state=1)),
        Set("moons, noise 0.05", 100, *sets.make_moons(1200, noise=0.05, random_state=1)),
        Set("circles, noise 0.15", 150, *sets.make_circles(1200, noise=0.15, factor=0.5, random_state=2)),
        Set("linear, 5 columns", 150, *sets.make_classification(1200, 5, n_informative=3, flip_y=0.1, random_state=3)),
        Set("squares, no noise", 150, squares, (np.floor(squares * 1.5) % 2).sum(axis=1).astype(int) % 2),
        Set("rings, no noise", 150, rings, (np.hypot(*rings.T) * 2.5).astype(int) % 2),
        Set("wedge, three classes", 150, wedge, (np.arctan2(*wedge.T) > 0.7) + (np.hypot(*wedge.T) > 0.8)),
        Set("spiral, no noise", 150, spiral, arm),
        Set("xor, 15% flipped", 150, flipped, xor ^ (rng.uniform(size=1200) < 0.15)),
        Set("mixed columns, three classes", 150, mixed.X, mixed.y),
    ]


def priors(amplitude: float, nugget_rate: float, ranges: str) -> Priors:
    return Priors(
        lengthscale=RANGES[ranges],
        nugget=NuggetPrior(shapes=(1.0,), rates=(nugget_rate,)),
        noise=NoisePrior.half_t(amplitude),
        coefficients=CoefficientPrior(kind="fixed", a=5.0, g=5.0, rates=None),
    )


def fit(task: Set, split: int, setting: tuple[float, float, str]) -> dict[str, Any]:
    X, X_test, y, y_test = train_test_split(task.X, task.y, train_size=task.train, stratify=task.y, random_state=split)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short runs; the loss is what counts
        model = TreedGPClassifier(priors=priors(*setting), random_state=split, **RUN).fit(X, y)
        loss = log_loss(y_test, model.predict_proba(X_test), labels=model.classes_)
    seconds = time.process_time() - began
    agreement = rhat(model.posterior_.log_posterior)
    named = dict(zip(NAMES, setting, strict=True))
    return {"set": task.name, **named, "loss": loss, "R-hat": agreement, "seconds": seconds}


def main() -> None:
    grid = itertools.product(all_sets(), range(SPLITS), SETTINGS)
    rows = Parallel(n_jobs=os.cpu_count(), verbose=5)(delayed(fit)(*job) for job in grid)
    frame = pd.DataFrame(rows)
    losses = frame.groupby(["set", *NAMES])["loss"].mean().unstack(NAMES)
    # Sets differ in how hard they are: what counts is the excess over the best setting of the set.
    excess = losses.sub(losses.min(axis=1), axis=0)
    by_setting = frame.groupby(NAMES)
    overall = pd.DataFrame(
        {
            "excess log loss, mean": excess.mean(),
            "its standard error": excess.sem(),
            "R-hat of the log posterior, median": by_setting["R-hat"].median(),
            "CPU s a fit": by_setting["seconds"].mean(),
        }
    ).round(4)
    each = losses.round(3).set_axis([f"{a:g}, {r:g}, {law}" for a, r, law in losses.columns], axis=1)
    write(
        "class_priors",
        "Priors of the classifier",
        [
            f"Mean over {len(losses)} data sets, {SPLITS} splits of each, of the log loss on rows held out, less that "
            f"of the best setting for the set ({RUN}). The standard error is over data sets.",
            table(overall.reset_index()),
            "Each set: log loss by amplitude, nugget rate, ranges.",
            table(each.reset_index()),
            f"CPU seconds in all: {frame['seconds'].sum():.0f}. {machine('No peer')}",
        ],
    )


if __name__ == "__main__":
    main()
