"""Section 4.2.2, Figure 7: the sign of a Hessian, learned from a maximum-entropy design."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import treedgp
from treedgp import design as designs
from treedgp.datasets import make_exp2d_classes
from treedgp.errors import DataError
from treedgp.experiments import peers
from treedgp.experiments.classify import MODELS, SCORES, best_tree, fit_and_score, make, tree_arrays, tree_block
from treedgp.experiments.figures import new_figure
from treedgp.experiments.job import Experiment, Job, Outcome, Results, RunLength, Settings
from treedgp.experiments.markdown import number, seconds, table

N_DESIGN = 400
NAMES = ["x1", "x2"]
BOX = (-2.0, 6.0, -2.0, 6.0)  # x1 from, to, x2 from, to
SURFACE_SIDE = 41
BENT = 0  # the class with a latent; class 1 is the base
PAPER = {"cgp": (3.3, "21.5 h"), "ctgp": (1.7, "2.0 h")}
PEERS = {
    "gpc_ard": "scikit-learn GPC, separable",
    "gpc": "scikit-learn GPC, isotropic",
    "forest": "random forest",
    "hist_gb": "HistGradientBoosting",
    "rpart": "tree, rpart's grid",
}
ALL = MODELS | PEERS


@dataclass(frozen=True, eq=False)
class Design:
    X: pd.DataFrame
    y: np.ndarray
    test_X: pd.DataFrame
    test_y: np.ndarray

    @property
    def digest(self) -> str:
        content = [part.tobytes() for part in (self.X.to_numpy(), self.y, self.test_X.to_numpy())]
        return hashlib.sha256(b"".join(content)).hexdigest()[:8]


@cache  # a maximum-entropy design takes a while, and jobs and figures need it
def load_design(path: Path | None, every: int) -> Design:
    """The design, and every so many-th of the other grid points to test on."""
    grid = make_exp2d_classes(None)
    if path is None:
        chosen = designs.maximum_entropy(N_DESIGN, grid.X, random_state=1)
        X, y = grid.X[chosen], grid.y[chosen]
    else:
        X, y = _read(path)
    is_free = ~(np.abs(grid.X[:, None] - X[None]).max(axis=2) < 1e-6).any(axis=1)
    test = np.flatnonzero(is_free)[::every]
    return Design(pd.DataFrame(X, columns=NAMES), y, pd.DataFrame(grid.X[test], columns=NAMES), grid.y[test])


def _read(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        frame = pd.read_csv(path)
        X, y = frame[NAMES].to_numpy(dtype=float), frame["label"].to_numpy(dtype=np.int64)
        if set(y) != {0, 1}:
            raise ValueError(f"its labels are {', '.join(map(str, np.unique(y)))}")
        return X, y
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            f"expected a CSV file with the columns x1, x2 and label (0 or 1) at {str(path)!r}, but reading it failed "
            f"({error}); without --data the package makes a maximum-entropy design itself."
        ) from error


def length(settings: Settings) -> RunLength:
    chains = settings.chains or settings.pick(1, 4)
    return RunLength(500, 100, 5, chains) if settings.quick else RunLength(2500, 1000 // chains or 1, 10, chains)


def jobs(settings: Settings) -> list[Job]:
    design, run_length = load_design(settings.data, settings.pick(4, 1)), length(settings)
    ours = f"{run_length} design={design.digest} treedgp={treedgp.__version__}"
    theirs = f"design={design.digest} {peers.peer_version()}"
    rounds = run_length.chains * (run_length.tune + run_length.draws * run_length.thin) / 1000
    made = []
    for repetition in range(1, (settings.repetitions or settings.pick(1, 3)) + 1):
        for name in MODELS:
            cost = rounds * (2.0 if name.startswith("ctgp") else 6.0)
            work = partial(fit_ours, name, repetition, design, run_length)
            made.append(Job(name, repetition, ours, work, cost, illustrates=repetition == 1))
        for name in PEERS:
            made.append(Job(name, repetition, theirs, partial(fit_peer, name, repetition, design), 3.0))
    return made


def fit_ours(name: str, repetition: int, design: Design, run_length: RunLength) -> Outcome:
    model = make(name, run_length, repetition)
    scores = fit_and_score(model, design.X, design.y, design.test_X, design.test_y)
    mean, _ = model.latent_mean_and_variance(pd.DataFrame(_surface_points(), columns=NAMES))
    arrays = {"surface": -np.ravel(mean).reshape(SURFACE_SIDE, SURFACE_SIDE)}  # the paper's sign
    if model.tree:
        tree = best_tree(model, BENT)
        arrays |= tree_arrays(model, BENT) | {"regions": np.array(regions(tree.root, BOX))}
    return Outcome(scores, arrays)


def fit_peer(name: str, repetition: int, design: Design) -> Outcome:
    models = {
        "gpc_ard": lambda: peers.gpc(2, repetition),
        "gpc": lambda: peers.gpc(1, repetition),
        "forest": lambda: peers.forest(repetition),
        "hist_gb": lambda: peers.boosting(repetition),
        "rpart": lambda: peers.rpart_like(design.y, 10, repetition),
    }
    return Outcome(fit_and_score(models[name](), design.X, design.y, design.test_X, design.test_y))


def _surface_points() -> np.ndarray:
    """(point, 2), x1 varying slowest."""
    side = np.linspace(BOX[0], BOX[1], SURFACE_SIDE)
    return np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)


def regions(node: Any, box: tuple[float, ...]) -> list[tuple[float, ...]]:
    """The boxes (x1 from, to, x2 from, to) of a tree's leaves."""
    if not hasattr(node, "threshold"):
        return [box]
    side = 2 * NAMES.index(node.column)
    left = (*box[: side + 1], node.threshold, *box[side + 2 :])
    right = (*box[:side], node.threshold, *box[side + 1 :])
    return regions(node.left, left) + regions(node.right, right)


def report(results: Results, settings: Settings) -> list[str]:
    rows = []
    for name in results.models(ALL):
        of = results.of(name)
        error, hours = PAPER.get(name, (None, "-"))
        scores = [number(of["error"].mean()), number(of["log_loss"].mean(), 3), number(of["brier"].mean(), 4)]
        rows.append([ALL[name], number(error, 1), hours, *scores, seconds(of["cpu"]), str(len(of))])
    run_length = length(settings)
    data = "a maximum-entropy design of the package" if settings.data is None else f"the design `{settings.data.name}`"
    page = [
        "# Two-dimensional exponential classes (Section 4.2.2, Figure 7)",
        f"Trained on {data}, tested on {settings.pick('every fourth of ', '')}the other points of the 100 x 100 grid. "
        f"{run_length.chains} chain(s) of {run_length.tune} + {run_length.draws * run_length.thin} rounds, predictions "
        f"from {run_length.chains * run_length.draws} draws. A repetition is a seed of the sampler.",
        table(
            ["model", "paper error %", "paper time", "error %", "log loss", "Brier", "CPU s", "repetitions"],
            rows,
        ),
    ]
    for name, arrays in results.arrays(MODELS).items():
        if "trees" in arrays:
            page += [f"## MAP trees by height: {MODELS[name]}", *map(tree_block, arrays["trees"].tolist())]
    return page


def draw(results: Results, settings: Settings) -> dict[str, Any]:
    design = load_design(settings.data, 1)
    fits = results.arrays(MODELS)
    figure, axes = new_figure(max(1, len(fits)), 2)
    for (left, right), (name, arrays) in zip(axes, fits.items(), strict=False):
        for label, marker in ((0, "o"), (1, ".")):
            left.plot(*design.X[design.y == label].to_numpy().T, marker, markersize=3, label=f"class {label}")
        for low1, high1, low2, high2 in arrays.get("regions", np.empty((0, 4))):
            left.plot([low1, high1, high1, low1, low1], [low2, low2, high2, high2, low2], color="C3")
        image = right.imshow(arrays["surface"].T, origin="lower", extent=BOX, aspect="auto")
        figure.colorbar(image, ax=right)
        what = "labels, MAP partition" if "regions" in arrays else "labels"
        left.set(title=f"{MODELS[name]}: {what}", xlabel="x1", ylabel="x2")
        right.set(title="mean latent Z of class 0", xlabel="x1", ylabel="x2")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper left", ncols=2)  # covers no point
    return {"exp2d": figure} if fits else {}


EXPERIMENT = Experiment("exp2d", SCORES, jobs, report, draw, takes_data=True)
