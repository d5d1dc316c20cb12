"""Exit codes and words instead of tracebacks, for every command at once."""

from __future__ import annotations

import errno
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from treedgp.cli.show import messages
from treedgp.errors import ConfigError, ConvergenceWarning, DataError, FormatError, TreedGPError

FAILURE, BAD_INPUT, INTERRUPTED = 1, 2, 130


class GuardedGroup(TyperGroup):
    """0: fine, 2: bad usage or input, 1: failure, 130: interrupted. A traceback is left to bugs."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("always", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)  # every command prints the findings itself
            warnings.showwarning = _Shown()  # type: ignore[assignment]
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as error:
                _fail("Interrupted.", INTERRUPTED, error)
            except (DataError, ConfigError, FormatError) as error:
                _fail(str(error), BAD_INPUT, error)
            except TreedGPError as error:
                _fail(str(error), FAILURE, error)
            except MemoryError as error:
                _fail("Not enough memory: use fewer rows, chains or draws.", FAILURE, error)
            except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
                _fail(f"{_in_words(error)}. Check the path.", BAD_INPUT, error)
            except OSError as error:
                if error.errno == errno.EPIPE:
                    raise  # typer ends quietly where the reader of a pipe has left
                _fail(f"{_in_words(error)}.", FAILURE, error)


def _in_words(error: OSError) -> str:
    """A failing write has no file name."""
    return ": ".join(str(part) for part in (error.strerror or error, error.filename) if part)


def _fail(text: str, code: int, error: BaseException) -> None:
    messages().print(f"Error: {text}" if code != INTERRUPTED else text, style="red")
    raise typer.Exit(code) from error


class _Shown:
    """Prints a warning once a command, however many calls give it."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def __call__(self, message: Warning | str, category: type[Warning], *_: Any) -> None:
        is_for_users = issubclass(category, UserWarning)  # deprecations and the like are for developers
        if is_for_users and str(message) not in self._said:
            self._said.add(str(message))
            messages().print(f"Warning: {message}", style="yellow")
