"""Small classifiers whose whole joint law can be simulated directly: 12 rows, the columns of models.py, two or three
classes.

Families: `cgp` (no tree), `ctgp` (a tree for each latent), `otgp` (one tree for all). Coefficients: `fixed` (beta0, W
and tau2 fixed, not at 0 and I unless `centred`), `tau2` (tau2 random), `b0` (hierarchical). sigma2 ~ IG(a/2, g/2) with
a = 8, so that latents have seven moments, and g = 12 or g ~ Exp with that mean. The leaves are GPs with the limiting
model allowed; two ranges are alike where the mean is constant, independent where it is linear.
"""

import numpy as np

from oracle.class_model import ClassModel
from oracle.leaf import Hyper, LeafModel
from oracle.priors import LeafPrior
from oracle.rules import SplitData, dense_ranks
from oracle.target import Model
from statistical.models import ALIKE, LEVELS, LIMITING, RANGES, TAU2, X

FAMILIES = ("cgp", "ctgp", "otgp")
COEFFICIENTS = ("fixed", "tau2", "b0")
SAMPLERS = ("polya_gamma", "metropolis")
NUGGET = (("gamma", 1.0, 2.0, 10.0),)


def split_data(x, levels, alpha, min_leaf):
    """Two numeric columns, and a categorical one unless levels is None."""
    columns = [dense_ranks(column) for column in x.T] + ([] if levels is None else [levels])
    codes = np.column_stack(columns)
    kinds = ("numeric",) * x.shape[1] + (() if levels is None else ("categorical",))
    return SplitData(codes, kinds, tuple(codes.max(axis=0) + 1), min_leaf, alpha, beta=0.5)


def fixed_hyper(m, coefficients, centred):
    """(beta0, W) that are not (0, I) where they are fixed, unless `centred`."""
    if coefficients == "b0" or centred:
        return Hyper(np.zeros(m), np.eye(m), 8.0, 12.0, 8.0, 6.0)
    beta0, w_inv = np.array([1.5, -0.4, 0.3]), np.diag([1.0, 1.4, 0.8]) + 0.3 * (np.ones((3, 3)) - np.eye(3))
    return Hyper(beta0[:m], w_inv[:m, :m], 8.0, 12.0, 8.0, 6.0)


def make_class_case(
    family, n_classes, coefficients, *, learn_g=False, mean="constant", kernel="gaussian", centred=False, min_leaf=2
):
    split = split_data(X, LEVELS, 0.0 if family == "cgp" else 0.55, min_leaf)
    n_range = 1 if kernel == "matern32" else 2
    model = Model(
        X,
        np.zeros(len(X)),
        split,
        LeafModel(kernel, mean, "hierarchical" if coefficients == "b0" else "fixed"),
        LeafPrior(n_range, RANGES, NUGGET, LIMITING, ALIKE if n_range == 2 and mean == "constant" else None),
        tau2_random=coefficients != "fixed",
        s2_rates=(None, 1 / 12) if learn_g else None,
        tau2_rates=(0.2, 0.5) if coefficients == "b0" else None,
    )
    m = 3 if mean == "linear" else 1
    return ClassModel(model, fixed_hyper(m, coefficients, centred), n_classes, family == "otgp", TAU2)
