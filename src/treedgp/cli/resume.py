"""`treedgp resume`: go on with a checkpointed run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import treedgp
from treedgp.cli import show
from treedgp.cli.files import check_output
from treedgp.cli.guard import INTERRUPTED
from treedgp.errors import FormatError


def resume(
    run: Annotated[Path, typer.Argument(help="The file given to treedgp fit --checkpoint.", metavar="RUN")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to save the model too; RUN itself is one when done.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of words.")] = False,
) -> None:
    """Go on with an interrupted run; its draws are those of a run without a break."""
    check_output(output or run)
    was_interrupted = False
    try:
        model = treedgp.resume(run)
    except KeyboardInterrupt:
        show.messages().print(f"Interrupted. The run is in {run}; to go on: treedgp resume {run}")
        try:
            model = treedgp.load(run)
        except FormatError as error:  # still tuning
            raise typer.Exit(INTERRUPTED) from error
        was_interrupted = True
    if output is not None:
        model.save(output)
    saved = output or run
    if as_json:
        show.print_json({"model": str(saved), "interrupted": was_interrupted, **show.described(model)})
    else:
        console = show.results()
        show.print_model(console, model)
        console.print(f"\nThe model is in {saved}. Next: treedgp predict {saved} NEW.csv")
    if was_interrupted:
        raise typer.Exit(INTERRUPTED)
