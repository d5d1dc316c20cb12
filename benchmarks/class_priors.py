"""The study behind the classifier's default priors: log loss on data sets that are not reported anywhere else.

The amplitude of the latents, their nugget, their ranges (independent, alike or one for all columns) and the spread of
their means are varied, everything else is as by default. Real sets come with scikit-learn; synthetic ones have smooth,
curved and cornered boundaries, with and without noise, and columns of both kinds.
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
from sklearn.decomposition import PCA
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from treedgp import CoefficientPrior, LengthscalePrior, NoisePrior, NuggetPrior, Priors, TreedGPClassifier
from treedgp.posterior.diagnostics import rhat


def one_kind(rate: float, alike: float | None = None) -> LengthscalePrior:
    return LengthscalePrior(weights=(1.0,), shapes=(1.0,), rates=(rate,), alike=alike)


def mean_prior(a: float, g: float) -> CoefficientPrior:
    return CoefficientPrior(kind="fixed", a=a, g=g, rates=None)


CHOSEN, ISOTROPIC = "G(1, 2), alike 5", "G(1, 2), one for all columns"
RANGES = {  # d of exp(-r^2 / d), inputs scaled to [0, 1]
    "half G(1, 20), half G(10, 10)": LengthscalePrior(),
    "G(1, 2)": one_kind(2),
    ISOTROPIC: one_kind(2),
    **{f"G(1, 2), alike {k}": one_kind(2, k) for k in (2, 5, 10, 20)},
    **{f"G(1, {rate}), alike 5": one_kind(rate, 5) for rate in (1, 4)},
}
NARROW, WIDE = "IG(5/2, 5/2)", "IG(5/2, 25)"
MEANS = {NARROW: mean_prior(5, 5), WIDE: mean_prior(5, 50)}  # tau2: a leaf's mean relative to its process
# Scale A of sigma ~ half-t with 5 degrees of freedom; rate of the nugget; law of ranges; tau2.
CENTRE = (100.0, 1000.0, CHOSEN, NARROW)  # the default but for its amplitude, 30
SETTINGS = [
    *((100.0, 1000.0, ranges, NARROW) for ranges in RANGES),
    (100.0, 1000.0, CHOSEN, WIDE),
    *((amplitude, 1000.0, CHOSEN, NARROW) for amplitude in (10.0, 30.0, 300.0)),
    *((100.0, nugget_rate, CHOSEN, NARROW) for nugget_rate in (100.0, 10000.0)),
]
NAMES = ["amplitude", "nugget rate", "ranges", "tau2"]
SPLITS = 2
RUN: dict[str, Any] = {"chains": 2, "tune": 500, "draws": 300}


@dataclass(frozen=True, eq=False)
class Set:
    name: str
    train: int
    X: Any
    y: np.ndarray


def plane(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(-1, 1, size=(n, 2))


def places(n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Noisy labels whose border is another one in each of four places."""
    X = pd.DataFrame(plane(n, rng), columns=["u", "v"])
    X["place"] = pd.Categorical(rng.choice(list("abcd"), size=n))
    bend = X["place"].map({"a": 0.0, "b": 0.0, "c": 2.0, "d": -2.0}).astype(float)
    score = 3 * X["u"] + bend * X["v"] ** 2 + np.where(X["place"] == "b", -1.5, 0)
    return X, (score + rng.logistic(size=n) * 0.4 > 0).to_numpy().astype(int)


def all_sets() -> list[Set]:
    return [*built_in_sets(), *smooth_sets(), *cornered_sets()]


def above_median(values: np.ndarray) -> np.ndarray:
    return np.asarray(values > np.median(values)).astype(int)


def digits(one: int, other: int, components: int, train: int) -> Set:
    data = sets.load_digits()
    rows = np.isin(data.target, (one, other))
    X = PCA(components, random_state=0).fit_transform(data.data[rows])
    return Set(f"digits {one} and {other}, {components} components", train, X, data.target[rows])


def built_in_sets() -> list[Set]:
    rng = np.random.default_rng(1)
    cancer, diabetes = sets.load_breast_cancer(), sets.load_diabetes()
    friedman = [
        sets.make_friedman1(1200, 8, noise=1.0, random_state=1),
        sets.make_friedman2(1200, noise=0, random_state=1),
        sets.make_friedman3(1200, noise=0, random_state=1),
    ]
    quantiles = sets.make_gaussian_quantiles(n_samples=1200, n_features=2, n_classes=3, random_state=1)
    curve, along = sets.make_s_curve(1200, noise=0.1, random_state=3)
    normals = rng.normal(size=(1200, 5))
    return [
        Set("iris", 80, *sets.load_iris(return_X_y=True)),
        Set("wine", 80, *sets.load_wine(return_X_y=True)),
        Set("breast cancer, 8 means", 120, cancer.data[:, :8], cancer.target),
        Set("breast cancer, 8 extremes", 100, cancer.data[:, 20:28], cancer.target),
        Set("diabetes, above the median", 150, diabetes.data, above_median(diabetes.target)),
        digits(3, 8, 5, 80),
        digits(4, 9, 5, 100),
        digits(1, 7, 8, 120),
        Set("moons, noise 0.3", 150, *sets.make_moons(1200, noise=0.3, random_state=1)),
        Set("moons, noise 0.05", 100, *sets.make_moons(1200, noise=0.05, random_state=1)),
        Set("circles, noise 0.15", 150, *sets.make_circles(1200, noise=0.15, factor=0.5, random_state=2)),
        Set("linear, 5 columns", 150, *sets.make_classification(1200, 5, n_informative=3, flip_y=0.1, random_state=3)),
        *(Set(f"friedman {i}, above the median", 150, X, above_median(y)) for i, (X, y) in enumerate(friedman, 1)),
        Set("quantiles, three classes", 150, *quantiles),
        Set("s curve, three parts", 120, curve, np.digitize(along, [-1.5, 1.5])),
        Set("normal, 5 columns, far from 0", 200, normals, above_median((normals**2).sum(axis=1))),
    ]


def smooth_sets() -> list[Set]:
    rng = np.random.default_rng(0)
    rings, sine, ellipse, saddle, clover, band = (plane(1200, rng) for _ in range(6))
    ball, cube = rng.uniform(-1, 1, size=(1200, 3)), rng.uniform(-1, 1, size=(1200, 6))
    bent = saddle[:, 0] ** 2 - saddle[:, 1] ** 2 + saddle[:, 0] * saddle[:, 1]
    turn, arm = rng.uniform(0.5, 2.5, 1200) * np.pi, rng.integers(2, size=1200)
    spiral = np.column_stack([turn * np.cos(turn + np.pi * arm), turn * np.sin(turn + np.pi * arm)])
    petals = 0.55 + 0.3 * np.cos(3 * np.arctan2(*clover.T))
    depth = 0.4 - np.abs(band.sum(axis=1) - 0.2)
    return [
        Set("rings, no noise", 150, rings, (np.hypot(*rings.T) * 2.5).astype(int) % 2),
        Set("spiral, no noise", 150, spiral, arm),
        Set("sine, no noise", 120, sine, (sine[:, 1] > 0.6 * np.sin(4 * sine[:, 0])).astype(int)),
        Set("ellipse, no noise", 200, ellipse, (np.hypot(*(ellipse / [0.9, 0.4]).T) < 1).astype(int)),
        Set("ball, three columns, no noise", 200, ball, (np.linalg.norm(ball, axis=1) < 0.95).astype(int)),
        Set("clover, no noise", 200, clover, (np.hypot(*clover.T) < petals).astype(int)),
        Set("saddle, some noise", 200, saddle, (8 * bent + rng.logistic(size=1200) > 0).astype(int)),
        Set("slanted band, some noise", 150, band, (6 * depth + rng.logistic(size=1200) > 0).astype(int)),
        Set("wave in one of six columns", 150, cube, (np.sin(5 * cube[:, 0]) + 0.3 * rng.normal(size=1200) > 0) * 1),
    ]


def cornered_sets() -> list[Set]:
    rng = np.random.default_rng(2)
    squares, wedge, flipped, halves = (plane(1200, rng) for _ in range(4))
    xor = (flipped[:, 0] > 0) ^ (flipped[:, 1] > 0.2)
    border = np.where(halves[:, 0] > 0.1, 0.3 * np.sin(8 * halves[:, 0]), -0.3)
    return [
        Set("squares, no noise", 150, squares, (np.floor(squares * 1.5) % 2).sum(axis=1).astype(int) % 2),
        Set("wedge, three classes", 150, wedge, (np.arctan2(*wedge.T) > 0.7).astype(int) + (np.hypot(*wedge.T) > 0.8)),
        Set("xor, 15% flipped", 150, flipped, xor ^ (rng.uniform(size=1200) < 0.15)),
        Set("four places, some noise", 150, *places(1200, rng)),
        Set("wave beside a line, no noise", 200, halves, (halves[:, 1] > border).astype(int)),
    ]


def priors(amplitude: float, nugget_rate: float, ranges: str, tau2: str) -> Priors:
    return Priors(
        lengthscale=RANGES[ranges],
        nugget=NuggetPrior(shapes=(1.0,), rates=(nugget_rate,)),
        noise=NoisePrior.half_t(amplitude),
        coefficients=MEANS[tau2],
    )


def fit(task: Set, split: int, setting: tuple[float, float, str, str]) -> dict[str, Any]:
    X, X_test, y, y_test = train_test_split(task.X, task.y, train_size=task.train, stratify=task.y, random_state=split)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short runs; the loss is what counts
        isotropic = ISOTROPIC in setting
        model = TreedGPClassifier(isotropic=isotropic, priors=priors(*setting), random_state=split, **RUN).fit(X, y)
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
    over_centre = losses.sub(losses[CENTRE], axis=0)
    by_setting = frame.groupby(NAMES)
    overall = pd.DataFrame(
        {
            "excess log loss, mean": excess.mean(),
            "its standard error": excess.sem(),
            "less the centre's": over_centre.mean(),
            "standard error": over_centre.sem(),
            "R-hat of the log posterior, median": by_setting["R-hat"].median(),
            "CPU s a fit": by_setting["seconds"].mean(),
        }
    ).round(4)
    each = losses.round(3).set_axis([f"{a:g}, {r:g}, {law}, {tau2}" for a, r, law, tau2 in losses.columns], axis=1)
    write(
        "class_priors",
        "Priors of the classifier",
        [
            f"Mean over {len(losses)} data sets, {SPLITS} splits of each, of the log loss on rows held out, less that "
            f"of the best setting for the set ({RUN}), and of its difference from that of the centre "
            f"({', '.join(map(str, CENTRE))}); standard errors are over data sets.",
            table(overall.reset_index()),
            "Each set: log loss by amplitude, nugget rate, ranges, tau2.",
            table(each.reset_index()),
            f"CPU seconds in all: {frame['seconds'].sum():.0f}. {machine('No peer')}",
        ],
    )


if __name__ == "__main__":
    main()
