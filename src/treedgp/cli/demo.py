"""`treedgp demo`: the main job on built-in data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.table import Table

from treedgp import TreedGPClassifier, TreedGPError
from treedgp.cli import show
from treedgp.cli.files import check_output
from treedgp.cli.report import write
from treedgp.datasets import make_mixed_classes

ROWS, NEW_ROWS = 200, 300


def demo(
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Fixes every draw.")] = 1,
    output: Annotated[Path, typer.Option("--output", "-o", help="The report to write.")] = Path("report.html"),
) -> None:
    """Fit a classifier to plants in a greenhouse, print what it found and write a report."""
    check_output(output)
    console = show.results()
    (X, y), (new_X, new_y) = _plants(ROWS, seed), _plants(NEW_ROWS, seed + 1)
    console.print(
        f"{ROWS} made-up plants in a greenhouse: does a plant thrive or struggle, given temperature, humidity, species "
        "(fern, cactus, orchid) and pot (clay, plastic)? The pot does not matter; the model has to find out."
    )
    model = _model(seed).fit(X, y)
    rounds = model.tune + model.draws * model.thin
    console.print(f"\n{model.chains} chains of {rounds} rounds in {model.posterior_.timings['sampling']:.1f} s.\n")
    show.print_model(console, model)
    _print_predictions(console, model, new_X, new_y)
    try:
        write(model, output)
    except TreedGPError as error:  # everything else of the demonstration has worked
        console.print(f"\nNo report written. {error}", style="yellow")
    else:
        console.print(f"\nWrote {output}. Open it in a browser.")


def _plants(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    data = make_mixed_classes(n, random_state=seed)
    return data.X, np.where(data.y == "thrives", "thrives", "struggles")


def _model(seed: int) -> Any:
    """The tree takes the categories, the GPs in its leaves temperature and humidity."""
    return TreedGPClassifier(split_features="categorical", draws=500, thin=15, n_jobs=2, random_state=seed)


def _print_predictions(console: Console, model: Any, X: pd.DataFrame, y: Any) -> None:
    """The error on new rows, and a few of them."""
    proba = model.predict_proba(X)
    guess = model.classes_[proba.argmax(axis=1)]
    console.print(f"\n{np.mean(guess == y):.0%} of {len(y)} new plants are told right, such as:")
    table = Table("plant", *model.classes_, "is")
    for plant, shares, label in zip(X.head(5).itertuples(), proba, y, strict=False):
        about = f"{plant.species} in {plant.pot}, {plant.temperature:.0f} °C, {plant.humidity:.0f} %"
        table.add_row(about, *(f"{share:.0%}" for share in shares), label)
    console.print(table)
