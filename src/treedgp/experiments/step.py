"""Section 4.2.1, Figures 3 to 6: three classes on a line, latents and class trees of CGP and CTGP."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

import treedgp
from treedgp.datasets import make_step_classes
from treedgp.experiments.classify import MODELS, best_tree, fit_and_score, make, tree_block
from treedgp.experiments.figures import new_figure
from treedgp.experiments.job import Arrays, Experiment, Job, Outcome, Results, RunLength, Settings
from treedgp.experiments.markdown import number, seconds, table

LATENTS = (0, 1)  # class 2 is the base
PAPER_SECONDS = {"cgp": 52.28, "ctgp": 24.22}
BETWEEN = ((19, 20), (39, 40))  # the points that the paper's class trees split between
COLUMNS = ("error", "log_loss", "split_0", "split_1", "share_0", "share_1", "cpu")


def length(settings: Settings) -> RunLength:
    chains = settings.chains or settings.pick(1, 4)
    return RunLength(500, 250, 2, chains) if settings.quick else RunLength(2000, 500, 10, chains)


def jobs(settings: Settings) -> list[Job]:
    run_length = length(settings)
    text = f"{run_length} treedgp={treedgp.__version__}"
    return [
        Job(name, repetition, text, partial(fit, name, repetition, run_length), 1.0, illustrates=repetition == 1)
        for repetition in range(1, (settings.repetitions or 1) + 1)
        for name in MODELS
    ]


def fit(name: str, repetition: int, run_length: RunLength) -> Outcome:
    data = make_step_classes()
    X = pd.DataFrame(data.X, columns=data.feature_names)
    model = make(name, run_length, repetition)
    scores = fit_and_score(model, X, data.y, X, data.y)
    z = -model.sample_posterior(X)  # (draw, class, row): the paper's sign, small means likely
    arrays: Arrays = {"latents": np.quantile(z, [0.05, 0.5, 0.95], axis=0), "trees": np.array([], dtype=str)}
    splits = {f"{score}_{label}": np.nan for label in LATENTS for score in ("split", "share")}
    if model.tree:
        trees = {label: best_tree(model, label, lambda height: height > 1) for label in LATENTS}
        for label, tree in trees.items():
            splits[f"split_{label}"] = np.nan if tree is None else tree.root.threshold
            splits[f"share_{label}"] = 100 * model.posterior_.split_frequencies(label).max()
        texts = [f"Class {label}: {tree or 'no draw has a split'}" for label, tree in trees.items()]
        arrays["trees"] = np.array(texts, dtype=str)
    return Outcome(scores | splits, arrays)


def split_text(splits: pd.Series, low: float, high: float) -> str:
    """The middle one, and how many are between the two points."""
    if splits.isna().all():
        return "-"
    return f"{number(splits.median(), 3)} ({splits.between(low, high).sum()} of {len(splits)})"


def shares_text(rows: pd.DataFrame) -> str:
    """Of draws, by class."""
    means = [rows[f"share_{label}"].mean() for label in LATENTS]
    return "-" if np.isnan(means).all() else ", ".join(number(mean, 0) for mean in means)


def report(results: Results, settings: Settings) -> list[str]:
    x = make_step_classes().X[:, 0]
    rows = []
    for name in results.models(MODELS):
        of = results.of(name)
        splits = zip(LATENTS, BETWEEN, strict=True)
        rows.append(
            [
                MODELS[name],
                number(of["error"].mean(), 1),
                number(of["log_loss"].mean(), 3),
                *(split_text(of[f"split_{label}"], *x[list(gap)]) for label, gap in splits),
                shares_text(of),
                number(PAPER_SECONDS.get(name), 1),
                seconds(of["cpu"]),
            ]
        )
    trees = ["split, class 0", "split, class 1", "draws that split, %"]
    header = ["model", "errors %", "log loss", *trees, "paper, s", "CPU s"]
    gaps = " and ".join(f"{x[low]:.3f} and {x[high]:.3f}" for low, high in BETWEEN)
    run_length = length(settings)
    page = [
        "# Step data in one dimension (Section 4.2.1, Figures 3 to 6)",
        f"60 points, three classes, no noise; {run_length.chains} chain(s) of {run_length.tune} + "
        f"{run_length.draws * run_length.thin} rounds. Errors and log loss are of the training points. A split is that "
        "of the root in the maximum a posteriori tree of more than one node. The paper splits class 0 and class 1 "
        f"between the points {gaps}; in brackets how many repetitions do so. Its seconds are of its own machine.",
        table(header, rows),
    ]
    for name, arrays in results.arrays(MODELS).items():
        if len(arrays["trees"]):
            page += [f"## Trees: {MODELS[name]}", *(tree_block(text) for text in arrays["trees"].tolist())]
    return page


def draw(results: Results, settings: Settings) -> dict[str, Any]:
    data = make_step_classes()
    x = data.X[:, 0]
    fits = results.arrays(MODELS)
    labels, axes = new_figure(1, 1)
    axes[0, 0].plot(x, data.y, "o", markersize=3)
    axes[0, 0].set(xlabel="x", ylabel="class", yticks=[0, 1, 2])
    figure, axes = new_figure(max(1, len(fits)), len(LATENTS), height=2.5)
    for row, (name, arrays) in zip(axes, fits.items(), strict=False):
        for place, axis in enumerate(row):
            low, median, high = arrays["latents"][:, place]
            axis.plot(x, median, color="C0")
            axis.plot(x, low, "--", x, high, "--", color="C3")
            axis.axhline(0, color="0.8", zorder=0)
            axis.set(title=f"{MODELS[name]}: class {LATENTS[place]}", xlabel="x", ylabel="Z (small: likely)")
    return {"step-labels": labels, "step-latents": figure}


EXPERIMENT = Experiment("step", COLUMNS, jobs, report, draw)
