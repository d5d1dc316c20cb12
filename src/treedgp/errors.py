"""The errors and warnings that treedgp raises."""

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
