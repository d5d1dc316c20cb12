"""The motorcycle accident data."""

from importlib import resources

import numpy as np

from treedgp.datasets.dataset import Dataset

DESCRIPTION = """\
Head acceleration (g) against time after impact (ms), 133 measurements in simulated motorcycle accidents; the
noise and the smoothness both change with time, and several times are repeated. Silverman, B. W. (1985), "Some
aspects of the spline smoothing approach to non-parametric regression curve fitting", Journal of the Royal
Statistical Society B 47(1), 1-52; as distributed with the R package MASS."""


def load_motorcycle() -> Dataset:
    """Load the motorcycle accident data: 133 rows, time (ms) and head acceleration (g)."""
    with resources.files(__package__).joinpath("motorcycle.csv").open(encoding="utf-8") as lines:
        table = np.loadtxt(lines, delimiter=",", skiprows=1)
    return Dataset(table[:, :1], table[:, 1], None, ["times"], [], DESCRIPTION)
