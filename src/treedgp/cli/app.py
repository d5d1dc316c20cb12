"""The commands, one file each."""

from __future__ import annotations

from typing import Annotated

import typer

import treedgp
from treedgp.cli.demo import demo
from treedgp.cli.fit import fit
from treedgp.cli.guard import GuardedGroup
from treedgp.cli.predict import predict
from treedgp.cli.report import report
from treedgp.cli.reproduce import reproduce
from treedgp.cli.resume import resume

app = typer.Typer(cls=GuardedGroup, no_args_is_help=True, add_completion=False)
for command in (demo, fit, predict, resume, report, reproduce):
    app.command()(command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(treedgp.__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Bayesian treed Gaussian processes: fit a table, predict new rows, look at what was learned."""
