"""`treedgp fit`: from a table to a saved model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from treedgp.cli import show
from treedgp.cli.files import check_output, read_table
from treedgp.cli.guard import INTERRUPTED
from treedgp.cli.models import make_model, task_of_preset
from treedgp.cli.problem import Table, make_table
from treedgp.cli.task import Choice, Task, as_labels, check_target, infer_task
from treedgp.words import counted, listed


def fit(
    data: Annotated[Path, typer.Argument(help="Table to learn from: .csv, .tsv or .parquet.", metavar="DATA")],
    target: Annotated[str, typer.Option(help="Column to predict.", metavar="COLUMN")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the model is saved.")] = Path("model.npz"),
    task: Annotated[Task | None, typer.Option(help="By default seen from the target.", show_default=False)] = None,
    categorical: Annotated[
        list[str] | None, typer.Option(help="A column of numbers that are categories; repeat for more.")
    ] = None,
    ignore: Annotated[list[str] | None, typer.Option(help="A column to leave out; repeat for more.")] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows that lack a number or the target.")
    ] = False,
    preset: Annotated[
        str | None, typer.Option(help="A model of R's tgp or of the paper: btgp, btgpllm, bcart, ctgp, otgp, ...")
    ] = None,
    leaf: Annotated[str | None, typer.Option(help="gp (default), linear (numbers only) or constant.")] = None,
    kernel: Annotated[str | None, typer.Option(help="gaussian (default), matern12, matern32 or matern52.")] = None,
    tree: Annotated[bool | None, typer.Option("--tree/--no-tree", help="--no-tree: one region.")] = None,
    draws: Annotated[int | None, typer.Option(min=1, help="Kept states a chain; 1000.")] = None,
    tune: Annotated[int | None, typer.Option(min=0, help="Rounds before the first draw; 1000.")] = None,
    thin: Annotated[int | None, typer.Option(min=1, help="Rounds a draw; 1.")] = None,
    chains: Annotated[int | None, typer.Option(min=1, help="Independent chains; 4.")] = None,
    jobs: Annotated[int, typer.Option(help="Chains side by side; -1: one for each core.")] = -1,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Fixes every draw.")] = 0,
    checkpoint: Annotated[
        Path | None, typer.Option(help="File to write the run to as it goes; an existing one is continued.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of words.")] = False,
) -> None:
    """Fit a treed model to a table and save it. Text columns are categorical.

    In CSV empty cells are missing; NA, NaN, None and the like are missing in a column of numbers, words in one of text.

    Ctrl-C saves what was drawn.
    """
    for path in filter(None, (output, checkpoint)):
        check_output(path, data)
    table = make_table(read_table(data), target, ignore or [], categorical or [], drop_missing)
    choice = _chosen_task(table.y, task, preset)
    check_target(table.y, choice)
    if choice.task is Task.classification:
        table = replace(table, y=as_labels(table.y))
    settings = {
        "leaf": leaf,
        "kernel": kernel,
        "tree": tree,
        "draws": draws,
        "tune": tune,
        "thin": thin,
        "chains": chains,
        "n_jobs": jobs,
        "random_state": seed,
        "categorical_features": list(table.categorical),
    }
    model = make_model(choice.task, preset, settings)
    if not as_json:
        _introduce(data, table, choice, model)
    was_interrupted = _fit_or_keep(model, table, checkpoint)
    model.save(output)
    _conclude(model, table, choice, output, was_interrupted, as_json)
    if was_interrupted:
        raise typer.Exit(INTERRUPTED)


def _chosen_task(target: pd.Series, task: Task | None, preset: str | None) -> Choice:
    if task is not None:
        return Choice(task, "as asked with --task")
    by_preset = task_of_preset(preset)
    return infer_task(target) if by_preset is None else Choice(by_preset, f"as the preset {preset!r} says")


def _fit_or_keep(model: Any, table: Table, checkpoint: Path | None) -> bool:
    """Whether it was interrupted with draws to keep; without, the interrupt goes on upwards."""
    try:
        model.fit(table.X, table.y, checkpoint=checkpoint)
    except KeyboardInterrupt:
        if checkpoint is not None:
            show.messages().print(f"The run is in {checkpoint}; to go on: treedgp resume {checkpoint}")
        if not hasattr(model, "posterior_"):
            show.messages().print("Interrupted while tuning, before the first draw: there is no model to save.")
            raise
        return True
    return False


def _introduce(data: Path, table: Table, choice: Choice, model: Any) -> None:
    console = show.results()
    dropped = f", {table.dropped} with missing values left out" if table.dropped else ""
    console.print(f"Data:   {data}, {counted(len(table.y), 'row')}{dropped}")
    if table.numeric:
        console.print(f"Inputs: {len(table.numeric)} numeric: {listed(table.numeric)}")
    if table.categorical:
        n_levels = [table.X[name].nunique(dropna=False) for name in table.categorical]
        levels = [f"{name} ({counted(n, 'level')})" for name, n in zip(table.categorical, n_levels, strict=True)]
        console.print(f"Inputs: {len(levels)} categorical: {listed(levels)}")
    console.print(f"Task:   {choice.task}, {choice.reason} (--task changes it)")
    rounds = counted(model.tune + model.draws * model.thin, "round")
    length = f"{counted(model.chains, 'chain')} of {rounds}, {counted(model.draws, 'draw')} each"
    console.print(f"Run:    {length}, seed {model.random_state}")


def _conclude(model: Any, table: Table, choice: Choice, output: Path, interrupted: bool, as_json: bool) -> None:
    if as_json:
        about = {"model": str(output), "task": choice.task.value, "target": table.y.name, "rows": len(table.y)}
        columns = {"numeric": list(table.numeric), "categorical": list(table.categorical)}
        show.print_json({**about, **columns, "interrupted": interrupted, **show.described(model)})
        return
    console, posterior = show.results(), model.posterior_
    chains, draws = posterior.n_leaves.shape
    length = f"{counted(chains, 'chain')}, {counted(draws, 'draw')} each"
    if interrupted:
        console.print(f"Interrupted: {draws} of {model.draws} draws a chain were made.", style="bold yellow")
    console.print(f"{length}, in {posterior.timings['sampling']:.1f} s.\n")
    show.print_model(console, model)
    console.print(f"\nSaved {output}, with the training data in it. Next:")
    console.print(f"  treedgp predict {output} NEW.csv -o predictions.csv", soft_wrap=True)
    console.print(f"  treedgp report {output}", soft_wrap=True)
