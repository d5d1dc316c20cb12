"""treedgp next to scikit-learn's models and BART: accuracy, uncertainty and CPU time, all in one run."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import bart
import classes
import numpy as np
import pandas as pd
from python_models import FEW, FOLDS, LEVEL, RESTARTS, TREES, Row, classifiers, regressors
from report import machine, table, write
from threadpoolctl import threadpool_limits

from treedgp.datasets import make_exp2d, make_friedman_categorical, make_mixed_classes
from treedgp.experiments import credit
from treedgp.experiments.classify import score
from treedgp.experiments.exp2d import N_DESIGN
from treedgp.experiments.friedman import CATEGORY, N_TEST, N_TRAIN, TEST_SEEDS

SEEDS = (1, 2, 3)  # of data and models; of the folds of credit
CODINGS = {"category": "category", "bits": "bits4"}  # as make_friedman_categorical calls them
N_MIXED, N_EXP2D, EVERY = 300, 80, 4
NOTE = (
    f"Means over {len(SEEDS)} seeds of data and model, in brackets the least and the largest. Ours with 4 chains of "
    "1000 + 1000 rounds, its defaults. Peers: categories as 0/1 columns, in boosting as categories; GP with a length "
    f"scale a column (one for all beyond {FEW} columns, in classification) and {RESTARTS} restarts where it says so; "
    f"forests of 500 trees; tuned: by {FOLDS}-fold cross-validation on the training rows, whose time counts; BART with "
    f"{bart.CHAINS} warm-started chains of {bart.LENGTH['num_mcmc']} rounds, its default of {TREES[0]} trees and the "
    f"{TREES[1]} that did better in a trial, in classification with a probit link, one class against the rest where "
    "there are three. RMSE is against the noise-free surface, `covered %` the share of new rows where the "
    f"{100 * LEVEL:.0f}% interval of the surface holds it."
)


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    began = time.process_time()
    return work(), time.process_time() - began


def friedman(coding: str, seed: int) -> tuple[Any, Any]:
    made = CODINGS[coding]
    train = make_friedman_categorical(N_TRAIN, made, random_state=seed)  # type: ignore[arg-type]
    return train, make_friedman_categorical(N_TEST, made, random_state=TEST_SEEDS + seed)  # type: ignore[arg-type]


def exp2d(coding: str, seed: int) -> tuple[Any, Any]:
    return make_exp2d(N_EXP2D, random_state=seed), make_exp2d(N_TEST, random_state=TEST_SEEDS + seed)


def regress(row: Row, data: Callable[[str, int], tuple[Any, Any]], seed: int) -> dict[str, Any]:
    train, test = data(row.coding, seed)
    model = row.make(train.X.shape[1], seed)
    _, fit = timed(lambda: model.fit(train.X, train.y))
    mean, predict = timed(lambda: model.predict(test.X))
    scores = {"RMSE": np.sqrt(np.mean((mean - test.f) ** 2)), "CPU s, fit": fit, "CPU s, mean": predict}
    interval = row.interval
    if interval is None:
        return scores
    band, seconds = timed(lambda: interval(model, test.X))
    covered = (band[:, 0] <= test.f) & (test.f <= band[:, 1])
    return scores | {"covered %": 100 * covered.mean(), "CPU s, interval": seconds}


Split = tuple[pd.DataFrame, np.ndarray, pd.DataFrame, np.ndarray]  # training rows and labels, new rows and labels


def mixed(seed: int) -> Split:
    train, test = (make_mixed_classes(n, random_state=s) for n, s in ((N_MIXED, seed), (N_TEST, TEST_SEEDS + seed)))
    return train.X, train.y, test.X, test.y


def exp2d_classes(seed: int) -> Split:
    design = classes.exp2d(EVERY)
    return design.X, design.y, design.test_X, design.test_y


def credit_fold(fold: int) -> Split:
    X, y = credit.load(classes.SHARED / "crx.data")
    train, test, frame = credit.split(X, y, fold)
    return frame.iloc[train], y[train], frame.iloc[test], y[test]


def classify(row: Row, data: Callable[[int], Split], seed: int) -> dict[str, Any]:
    X, y, new_X, new_y = data(seed)
    if row.coding == "bits":
        X, new_X = credit.with_bits(X), credit.with_bits(new_X)
    model = row.make(X.shape[1], seed)
    _, fit = timed(lambda: model.fit(X, y))
    proba, predict = timed(lambda: model.predict_proba(new_X))
    scores = score(np.asarray(model.classes_), proba, new_y)
    return {"error %": scores["error"], "log loss": scores["log_loss"], "CPU s, fit": fit, "CPU s, predict": predict}


def compare(rows: list[Row], run: Callable[[Row, int], dict[str, Any]], digits: dict[str, int]) -> str:
    """A table of the means over seeds; of scores also the least and the largest."""
    shown = []
    for row in rows:
        frame = pd.DataFrame([run(row, seed) for seed in SEEDS])
        shown.append({"model": row.name} | {name: cell(frame, name, digits) for name in digits})
        print(shown[-1], flush=True)
    return table(pd.DataFrame(shown))


def cell(frame: pd.DataFrame, name: str, digits: dict[str, int]) -> str:
    if name not in frame:
        return ""
    mean, least, most = (f"{value:.{digits[name]}f}" for value in frame[name].agg(["mean", "min", "max"]))
    return mean if name.startswith("CPU") else f"{mean} ({least} to {most})"


def regression(title: str, category: list[int], data: Callable[[str, int], tuple[Any, Any]], digits: int) -> list[str]:
    columns = {"RMSE": digits, "covered %": 0, "CPU s, fit": 2, "CPU s, mean": 2, "CPU s, interval": 2}
    return [f"## {title}", compare(regressors(category), lambda row, seed: regress(row, data, seed), columns)]


def classification(title: str, data: Callable[[int], Split], **ours: Any) -> list[str]:
    columns = {"error %": 1, "log loss": 3, "CPU s, fit": 2, "CPU s, predict": 2}
    return [f"## {title}", compare(classifiers(**ours), lambda row, seed: classify(row, data, seed), columns)]


def tables() -> list[str]:
    parts = regression(f"Categorical Friedman data, n = {N_TRAIN}, {N_TEST} new rows", [CATEGORY], friedman, 2)
    parts += regression(f"2-d exponential, n = {N_EXP2D}, {N_TEST} new rows", [], exp2d, 4)
    parts += classification(f"Plants of three classes, n = {N_MIXED}, {N_TEST} new rows, two categories", mixed)
    title = f"2-d exponential classes, n = {N_DESIGN}, tested on every {EVERY}th other point (seeds of the model)"
    parts += classification(title, exp2d_classes)
    if not (classes.SHARED / "crx.data").exists():
        return [*parts, "Credit approval: its file is not here."]
    title = f"Credit approval, folds {', '.join(map(str, SEEDS))} of a 10-fold cross-validation"
    return parts + classification(title, credit_fold, input_scaling="quantile")


def main() -> None:
    warnings.simplefilter("ignore")  # of short chains and optimisers at their bounds; the scores tell
    peer = f"scikit-learn {version('scikit-learn')}, "
    peer += f"stochtree {version('stochtree')}" if bart.has_bart() else bart.NOT_INSTALLED
    with threadpool_limits(1):
        write("python_peers", "treedgp next to Python peers", [machine(peer), NOTE, *tables()])


if __name__ == "__main__":
    main()
