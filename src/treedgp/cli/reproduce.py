"""`treedgp reproduce`: an experiment of the paper, or all of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from treedgp.cli import show
from treedgp.errors import ConfigError

Name = StrEnum("Name", ["friedman", "step", "exp2d", "credit", "all"])
ALL = ("credit", "friedman", "step", "exp2d")  # the first alone may lack its data, and then says so at once


def reproduce(
    name: Annotated[Name, typer.Argument(help="The experiment.")],
    quick: Annotated[bool, typer.Option("--quick", help="Short chains, few repetitions: two minutes.")] = False,
    repetitions: Annotated[int | None, typer.Option(help="Data sets, seeds or folds.")] = None,
    chains: Annotated[int | None, typer.Option(help="Chains a fit.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Only this row of the table; may be repeated.")] = None,
    data: Annotated[Path | None, typer.Option(help="exp2d: a design x1,x2,label; credit, all: UCI's crx.data.")] = None,
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder of tables, rows and figures.")] = Path(
        "reproduce"
    ),
) -> None:
    """Run the paper's experiments: a table with the paper's numbers, ours and the peers', and the figures.

    Every repetition is kept: a run that was stopped continues where it was.
    """
    from treedgp.experiments import Settings
    from treedgp.experiments import reproduce as run

    names = ALL if name is Name.all else (name.value,)
    if len(names) > 1 and model:
        raise ConfigError("--model belongs to one experiment, got all; run the experiments one by one.")
    for each in names:
        settings = Settings(quick, repetitions, chains, data if each in (name.value, "credit") else None)
        try:
            result = run(each, out, settings, models=model or None)
        except KeyboardInterrupt:
            show.messages().print("What is done is kept: the same command continues.")
            raise
        print(result.report)
        show.messages().print("Written: " + ", ".join(map(str, result.files)), soft_wrap=True)
