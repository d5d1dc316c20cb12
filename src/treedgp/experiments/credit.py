"""Section 4.3, Table 1 and Figure 8: credit approval by cross-validation."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import treedgp
from treedgp.datasets import load_credit_approval
from treedgp.errors import DataError
from treedgp.experiments import peers
from treedgp.experiments.classify import MODELS, SCORES, fit_and_score, make, tree_arrays, tree_block
from treedgp.experiments.figures import new_figure
from treedgp.experiments.job import Arrays, Experiment, Job, Outcome, Results, RunLength, Settings
from treedgp.experiments.markdown import number, seconds, table

FOLDS = 10
APPROVED = "+"  # the class with a latent; "-" is the base
PAPER = {"nnet": (18.1, 6.1), "rpart": (15.2, 3.8), "cgp": (14.6, 4.0), "ctgp": (14.2, 3.6)}
PAPER_HOURS = {"cgp": 5.52, "ctgp": 1.62}
PEERS = {
    "nnet": "neural network, paper's grid",
    "rpart": "tree, rpart's grid",
    "forest": "random forest",
    "hist_gb": "HistGradientBoosting",
    "gpc": "scikit-learn GPC, isotropic",
    "logistic": "logistic regression",
}
COSTS = {"cgp": 20.0, "cgp_ours": 20.0, "ctgp": 7.0, "ctgp_ours": 7.0}  # CPU seconds of 1000 rounds, roughly
PEER_COSTS = {"nnet": 10.0, "rpart": 1.0, "forest": 1.0, "hist_gb": 0.5, "gpc": 4.0, "logistic": 0.1}
ALL = MODELS | PEERS


def load(path: Path | None) -> tuple[pd.DataFrame, np.ndarray]:
    try:
        data = load_credit_approval(path)
    except DataError as error:
        raise DataError(f"{error}; for this experiment: treedgp reproduce credit --data path/to/crx.data") from error
    return data.X, data.y


def length(settings: Settings) -> RunLength:
    chains = settings.chains or settings.pick(1, 4)
    return RunLength(300, 150, 2, chains) if settings.quick else RunLength(600, 200, 3, chains)


def jobs(settings: Settings) -> list[Job]:
    X, y = load(settings.data)
    run_length, inner = length(settings), settings.pick(3, 10)
    digest = hashlib.sha256(X.to_csv().encode() + "".join(y).encode()).hexdigest()[:8]
    ours = f"{run_length} data={digest} treedgp={treedgp.__version__}"
    theirs = f"inner_folds={inner} data={digest} {peers.peer_version()}"
    rounds = run_length.chains * (run_length.tune + run_length.draws * run_length.thin) / 1000
    made = []
    for fold in range(1, (settings.repetitions or settings.pick(5, 100)) + 1):
        for name in MODELS:
            work = partial(fit_ours, name, fold, X, y, run_length)
            made.append(Job(name, fold, ours, work, COSTS[name] * rounds, illustrates=is_treed(name) and fold == 1))
        for name in PEERS:
            made.append(Job(name, fold, theirs, partial(fit_peer, name, fold, X, y, inner), PEER_COSTS[name]))
    return made


def is_treed(name: str) -> bool:
    return name.startswith("ctgp")


def fit_ours(name: str, fold: int, X: pd.DataFrame, y: np.ndarray, run_length: RunLength) -> Outcome:
    train, test, frame = split(X, y, fold)
    options: dict[str, Any] = {"split_features": "categorical"} if is_treed(name) else {}
    if name.endswith("ours"):
        options["input_scaling"] = "quantile"  # the numeric inputs have long tails
    inputs = frame if is_treed(name) else with_bits(frame)
    model = make(name, run_length, fold, **options)
    scores = fit_and_score(model, inputs.iloc[train], y[train], inputs.iloc[test], y[test])
    arrays: Arrays = tree_arrays(model, APPROVED) if is_treed(name) else {}
    return Outcome(scores, arrays)


def fit_peer(name: str, fold: int, X: pd.DataFrame, y: np.ndarray, inner: int) -> Outcome:
    train, test, frame = split(X, y, fold)
    models = {
        "nnet": lambda: make_pipeline(StandardScaler(), peers.nnet_like(inner, fold)),
        "rpart": lambda: peers.rpart_like(y[train], inner, fold),
        "forest": lambda: peers.forest(fold),
        "hist_gb": lambda: peers.boosting(fold),
        "gpc": lambda: make_pipeline(StandardScaler(), peers.gpc(1, fold)),
        "logistic": lambda: make_pipeline(StandardScaler(), peers.logistic()),
    }
    inputs = frame if name == "hist_gb" else with_bits(frame)
    return Outcome(fit_and_score(models[name](), inputs.iloc[train], y[train], inputs.iloc[test], y[test]))


def split(X: pd.DataFrame, y: np.ndarray, fold: int) -> tuple[np.ndarray, np.ndarray, pd.DataFrame]:
    """Rows of fold 1, 2, ... (ten to a cross-validation) and X with numbers that miss set to the training median."""
    round_, place = divmod(fold - 1, FOLDS)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=round_ + 1)
    train, test = list(folds.split(X, y))[place]
    numeric = X.select_dtypes("number").columns
    return train, test, X.fillna(X.iloc[train][numeric].median())


def with_bits(X: pd.DataFrame) -> pd.DataFrame:
    """Numbers first, then a 0/1 column for each declared level, none of them 1 where it misses: the paper's 47."""
    return pd.get_dummies(X, columns=list(X.select_dtypes("category")), prefix_sep="=", dtype=float)


def report(results: Results, settings: Settings) -> list[str]:
    rows = []
    for name in results.models(ALL):
        of = results.of(name)
        mean, sd = PAPER.get(name, (None, None))
        spread = of["error"].std() if len(of) > 1 else None
        rows.append(
            [
                ALL[name],
                "-" if mean is None else f"{number(mean, 1)} ({number(sd, 1)})",
                "-" if name not in PAPER_HOURS else f"{PAPER_HOURS[name]} h",
                f"{number(of['error'].mean(), 1)} ({number(spread, 1)})",
                number(of["log_loss"].mean(), 3),
                number(of["brier"].mean(), 3),
                seconds(of["cpu"]),
                str(len(of)),
            ]
        )
    run_length = length(settings)
    header = ["model", "paper error % (sd)", "paper, a fold", "error % (sd)", "log loss", "Brier", "CPU s a fold"]
    page = [
        "# Credit approval (Section 4.3, Table 1, Figure 8)",
        f"{len(load(settings.data)[1])} applications, folds of stratified 10-fold cross-validations; sd is over folds. "
        "Missing numbers are set to the training median, a missing category is a level of its own (CTGP, boosting) or "
        "no level (the 41 bits). CTGP splits on the nine categorical columns and has the six numbers in its leaves; "
        f"CGP has all 47 columns as numbers. {run_length.chains} chain(s) of {run_length.tune} + "
        f"{run_length.draws * run_length.thin} rounds. Ours: default priors, inputs scaled by quantiles. Tree and "
        "network are tuned by cross-validation on the training part, the other peers are scikit-learn's defaults (500 "
        "trees in the forest).",
        table([*header, "folds"], rows),
    ]
    for name, arrays in results.arrays(MODELS).items():
        shares = ", ".join(
            f"{column} {share:.0%}"
            for column, share in zip(arrays["columns"], arrays["shares"], strict=True)
            if share >= 0.005
        )
        page += [
            f"## MAP trees by height, fold 1: {MODELS[name]}",
            *map(tree_block, arrays["trees"].tolist()),
            f"Share of draws that split on a column: {shares or 'none splits'}.",
        ]
    return page


def draw(results: Results, settings: Settings) -> dict[str, Any]:
    names = results.models(ALL)
    figure, axes = new_figure(1, 1, width=3 + 0.7 * len(names), height=4)
    axis = axes[0, 0]
    axis.boxplot([results.of(name)["error"] for name in names], tick_labels=names)
    for place, name in enumerate(names, start=1):
        if name in PAPER:
            axis.errorbar(place + 0.35, *PAPER[name], fmt="o", color="C3")
    axis.set(ylabel="error of a fold, % (red: paper's mean and sd)", ylim=(0, None))
    axis.tick_params(axis="x", rotation=30)
    return {"credit": figure}


EXPERIMENT = Experiment("credit", SCORES, jobs, report, draw, takes_data=True)
