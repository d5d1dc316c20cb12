"""Commands, thin over the library."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Bayesian treed Gaussian processes.")


@app.callback()
def main() -> None:
    """Bayesian treed Gaussian processes."""


@app.command()
def demo(
    seed: Annotated[int, typer.Option(help="Fixes every draw.")] = 1,
) -> None:
    """Fit a treed GP to the motorcycle data, and print what it found."""
    from treedgp.cli.demo import run_demo

    run_demo(seed)
