"""The two-dimensional exponential function, as a regression and as a classification."""

import numpy as np

from treedgp.checks import RandomState, as_generator, check_count
from treedgp.datasets.dataset import Dataset, check_noise

GRID_SIDE = 100

DESCRIPTION = """\
f(x) = x1 exp(-x1^2 - x2^2), which varies on [-2, 2]^2 and is almost zero on the rest of [-2, 6]^2. Half the
points (rounded down) are uniform on the former, the others on the latter. Gramacy and Lee (2008), "Bayesian
treed Gaussian process models with an application to computer modeling", JASA 103."""

CLASSES_DESCRIPTION = """\
Class 1 where the sum of the eigenvalues of the Hessian of x1 exp(-x1^2 - x2^2),

    4 x1 (x1^2 + x2^2 - 2) exp(-x1^2 - x2^2),

is positive, class 0 elsewhere, at nodes of the 100 x 100 grid on [-2, 6]^2. Every node with x1 > 2 is in
class 1. Broderick and Gramacy (2011), "Classification and categorical inputs with treed Gaussian process
models", Journal of Classification 28."""


def make_exp2d(n: int = 80, *, noise: float = 0.001, random_state: RandomState = None) -> Dataset:
    """Make data from f(x) = x1 exp(-x1^2 - x2^2), half on [-2, 2]^2 and half on [-2, 6]^2.

    Parameters
    ----------
    n : int
        Number of rows.
    noise : float
        Standard deviation of the normal noise.
    random_state : None, int, Generator or RandomState
        Source of randomness.
    """
    n, noise = check_count(n), check_noise(noise)
    rng = as_generator(random_state)
    X = np.vstack([rng.uniform(-2, 2, size=(n // 2, 2)), rng.uniform(-2, 6, size=(n - n // 2, 2))])
    f = X[:, 0] * np.exp(-(X**2).sum(axis=1))
    y = f + noise * rng.standard_normal(n)
    return Dataset(X, y, f, ["x1", "x2"], [], DESCRIPTION)


def make_exp2d_classes(n: int | None = 400, *, random_state: RandomState = None) -> Dataset:
    """Make two classes, 0 and 1, by the sign of the sum of the Hessian's eigenvalues of the 2-d exponential.

    Parameters
    ----------
    n : int or None
        Number of different nodes to pick at random from the 100 x 100 grid on [-2, 6]^2; None is the whole
        grid, x1 varying slowest.
    random_state : None, int, Generator or RandomState
        Source of randomness.
    """
    side = np.linspace(-2, 6, GRID_SIDE)
    X = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    if n is not None:
        X = X[as_generator(random_state).permutation(len(X))[: check_count(n, most=len(X))]]
    x1, x2 = X.T
    y = (x1 * (x1**2 + x2**2 - 2) > 0).astype(np.int64)
    return Dataset(X, y, None, ["x1", "x2"], [], CLASSES_DESCRIPTION)
