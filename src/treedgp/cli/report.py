"""`treedgp report`: a saved model as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import treedgp
from treedgp.cli import show
from treedgp.cli.files import check_output
from treedgp.errors import TreedGPError


def report(
    model_file: Annotated[Path, typer.Argument(help="A model saved by treedgp fit.", metavar="MODEL")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of words.")] = False,
) -> None:
    """Write a page on the model: health, trees, partitions, traces. It needs no network."""
    check_output(output, model_file)
    write(treedgp.load(model_file), output)
    if as_json:
        show.print_json({"model": str(model_file), "report": str(output)})
    else:
        show.results().print(f"Wrote {output}. Open it in a browser.")


def write(model: Any, path: Path) -> None:
    try:
        model.report(path)
    except ImportError as error:  # it says what to install
        raise TreedGPError(str(error)) from error
