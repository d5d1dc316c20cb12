"""The `treedgp` command."""

from treedgp.cli.app import app

__all__ = ["app"]
