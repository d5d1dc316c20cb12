"""The errors and warnings that treedgp raises, and whose line a warning points to."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning as _SklearnConvergenceWarning


class TreedGPError(Exception):
    """Base class of every error raised by treedgp."""


class DataError(TreedGPError, ValueError):
    """The data cannot be used as given."""


class DataTypeError(DataError, TypeError):
    """The data are of a type that cannot be used."""


class ConfigError(TreedGPError, ValueError):
    """A setting, or a combination of settings, is not allowed."""


class ArgumentError(ConfigError, TypeError):
    """A method does not take this argument."""


class FormatError(TreedGPError, ValueError):
    """A file is not what it should be."""


class SamplerError(TreedGPError, RuntimeError):
    """The sampler cannot start or go on."""


class ConvergenceWarning(_SklearnConvergenceWarning):  # type: ignore[misc]
    """The chains give a reason to distrust the posterior."""


@contextmanager
def sampler_errors(what: str) -> Iterator[None]:
    """What the core gives up on, with what to do."""
    try:
        yield
    except RuntimeError as error:
        raise SamplerError(
            f"{what}: {error}. Duplicate rows with a nugget near 0 do that: use a nugget prior away from 0, "
            "or drop the duplicates. So do numbers many powers of ten apart: rescale them."
        ) from error


def frames_to_the_user() -> int:
    """Stack level, seen from the caller, of the first frame outside this package."""
    level, frame = 1, sys._getframe(1)
    # Code run by exec need not have a name.
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("treedgp."):
        level, frame = level + 1, frame.f_back
    return level
