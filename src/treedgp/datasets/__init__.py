"""Data sets of the literature on treed Gaussian processes, and a few made for demonstration."""

from treedgp.datasets.classes import make_mixed_classes, make_step_classes
from treedgp.datasets.credit import load_credit_approval
from treedgp.datasets.dataset import Dataset
from treedgp.datasets.exp2d import make_exp2d, make_exp2d_classes
from treedgp.datasets.friedman import make_friedman_categorical
from treedgp.datasets.motorcycle import load_motorcycle

__all__ = [
    "Dataset",
    "load_credit_approval",
    "load_motorcycle",
    "make_exp2d",
    "make_exp2d_classes",
    "make_friedman_categorical",
    "make_mixed_classes",
    "make_step_classes",
]
