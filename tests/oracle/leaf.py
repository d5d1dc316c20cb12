"""One leaf: Z | beta, sigma2 ~ N(F beta, sigma2 K), beta | sigma2 ~ N(beta0, sigma2 tau2 W) or flat with
density (2 pi)^(-m/2), sigma2 ~ IG(a_s/2, g_s/2).
"""

from dataclasses import dataclass
from math import inf, lgamma, log, pi

import numpy as np
from scipy.linalg import solve_triangular
from scipy.stats import multivariate_t


@dataclass(frozen=True)
class LeafParams:
    """d and b have length 0 (never a GP), 1 (isotropic) or q (separable); b_i = 1 is GP."""

    d: tuple[float, ...]
    b: tuple[int, ...]
    g: float
    tau2: float = 1.0
    sigma2: float = 1.0  # where moves condition on it; elsewhere left as it is


@dataclass(frozen=True, eq=False)
class Hyper:
    """Shared by all leaves. Under the flat prior the values of beta0 (m,) and W_inv (m, m) are not used."""

    beta0: np.ndarray
    W_inv: np.ndarray
    a_s: float = 5.0
    g_s: float = 10.0
    a_t: float = 5.0
    g_t: float = 10.0


@dataclass(frozen=True)
class LeafModel:
    kernel: str = "gaussian"  # gaussian | matern12 | matern32 | matern52
    mean: str = "linear"  # linear | constant
    coef: str = "flat"  # flat | hierarchical | fixed


def design(model, x):
    """F = (1, x), or the column 1."""
    ones = np.ones((len(x), 1))
    return np.hstack([ones, x]) if model.mean == "linear" else ones


def is_linear(p):
    """The limiting linear model: no dimension is a GP."""
    return not any(p.b)


def strict_correlation(model, x1, x2, p):
    """K*(x1, x2) over the dimensions with b = 1; 0 between any two points of a limiting linear leaf."""
    if is_linear(p):
        return np.zeros((len(x1), len(x2)))
    q = x1.shape[1]
    on = np.broadcast_to(p.b, q) == 1
    d = np.broadcast_to(p.d, q)[on]
    dx = x1[:, None, on] - x2[None, :, on]
    if model.kernel == "gaussian":
        return np.exp(-(dx**2 / d).sum(axis=2))
    r = np.sqrt(((dx / d) ** 2).sum(axis=2))
    factor = {"matern12": 1, "matern32": 1 + r, "matern52": 1 + r + r**2 / 3}[model.kernel]
    return factor * np.exp(-r)


def noise(p):
    """What y has on top of f, in units of sigma2: g, and 1 + g in a limiting linear leaf."""
    return 1 + p.g if is_linear(p) else p.g


def correlation(model, x, p):
    """K = K* + g I, or (1 + g) I in a limiting linear leaf."""
    return strict_correlation(model, x, x, p) + noise(p) * np.eye(len(x))


@dataclass(frozen=True, eq=False)
class Conditional:
    """Section 6.1 of the model, k = 1. prior_precision = W^-1 / tau2, and 0 under the flat prior."""

    F: np.ndarray
    K: np.ndarray
    prior_precision: np.ndarray
    V: np.ndarray
    btilde: np.ndarray
    log_det_K: float
    log_det_V: float
    m0: int


def conditional(model, hyper, x, y, p):
    """V^-1 = F'K^-1F + W^-1/tau2,  btilde = V (F'K^-1 Z + W^-1 beta0/tau2)."""
    F, K = design(model, x), correlation(model, x, p)
    m = F.shape[1]
    flat = model.coef == "flat"
    prior_precision = np.zeros((m, m)) if flat else hyper.W_inv / p.tau2
    chol_K = np.linalg.cholesky(K)
    root = np.zeros((m, m)) if flat else np.linalg.cholesky(prior_precision).T
    # V^-1 = R'R: forming it from F'K^-1F would square the condition number of F.
    Q, R = np.linalg.qr(np.vstack([solve_triangular(chol_K, F, lower=True), root]))
    if len(y) + m * (not flat) < m or not np.diag(R).all():
        raise np.linalg.LinAlgError("V^-1 is singular")
    R_inv = solve_triangular(R, np.eye(m))
    target = np.concatenate([solve_triangular(chol_K, y, lower=True), root @ hyper.beta0])
    return Conditional(
        F=F,
        K=K,
        prior_precision=prior_precision,
        V=R_inv @ R_inv.T,
        btilde=R_inv @ (Q.T @ target),
        log_det_K=2 * np.log(np.diag(chol_K)).sum(),
        log_det_V=-2 * np.log(abs(np.diag(R))).sum(),
        m0=m if flat else 0,
    )


def lambda_residual(c, hyper, y):
    """(Z - F bt)' K^-1 (Z - F bt) + (bt - beta0)' W^-1 (bt - beta0) / tau2."""
    e, shrink = y - c.F @ c.btilde, c.btilde - hyper.beta0
    return e @ np.linalg.solve(c.K, e) + shrink @ c.prior_precision @ shrink


def lambda_subtraction(c, hyper, y):
    """Z' K^-1 Z + beta0' W^-1 beta0 / tau2 - bt' V^-1 bt."""
    from_prior = hyper.beta0 @ c.prior_precision @ hyper.beta0
    return y @ np.linalg.solve(c.K, y) + from_prior - c.btilde @ np.linalg.solve(c.V, c.btilde)


def log_L(model, hyper, x, y, p):
    """Section 6.2: the log density of (d, b, g) up to a constant. -inf if K or V^-1 does not factorise."""
    try:
        c = conditional(model, hyper, x, y, p)
    except np.linalg.LinAlgError:
        return -inf
    lam = lambda_residual(c, hyper, y)
    return 0.5 * (c.log_det_V - c.log_det_K) - 0.5 * (hyper.a_s - c.m0 + len(y)) * log((hyper.g_s + lam) / 2)


def log_M(model, hyper, x, y, p):
    """Section 6.3: log p(Z), beta and sigma2 integrated out. -inf if K or V^-1 does not factorise."""
    try:
        c = conditional(model, hyper, x, y, p)
    except np.linalg.LinAlgError:
        return -inf
    n, m = c.F.shape
    lam = lambda_residual(c, hyper, y)
    log_det_prior = 0.0 if model.coef == "flat" else m * log(p.tau2) - np.linalg.slogdet(hyper.W_inv)[1]
    shape = (hyper.a_s + n - c.m0) / 2
    return (
        0.5 * (c.log_det_V - n * log(2 * pi) - c.log_det_K - log_det_prior)
        + hyper.a_s / 2 * log(hyper.g_s / 2)
        - shape * log((hyper.g_s + lam) / 2)
        + lgamma(shape)
        - lgamma(hyper.a_s / 2)
    )


def log_M_t(model, hyper, x, y, p):
    """log p(Z) of a proper prior once more: Z ~ t_{a_s}(F beta0, (g_s/a_s)(K + tau2 F W F'))."""
    F = design(model, x)
    scale = correlation(model, x, p) + p.tau2 * F @ np.linalg.solve(hyper.W_inv, F.T)
    return multivariate_t.logpdf(y, F @ hyper.beta0, hyper.g_s / hyper.a_s * scale, df=hyper.a_s)


def sigma2_posterior(model, hyper, x, y, p):
    """(shape, rate) of sigma2 | Z, beta integrated out: IG((a_s - m0 + n)/2, (g_s + lambda)/2)."""
    c = conditional(model, hyper, x, y, p)
    return (hyper.a_s - c.m0 + len(y)) / 2, (hyper.g_s + lambda_residual(c, hyper, y)) / 2


def predict(model, hyper, x, y, p, sigma2, x_new, of="f"):
    """Mean and covariance of f or y at new points of this leaf, given sigma2, beta integrated out:

    f' bt + kx' K^-1 (Z - F bt),   sigma2 [K(new) - kx' K^-1 kx + r' V r],   r = f - F' K^-1 kx

    for y; the covariance of f has sigma2 times noise(p) less on its diagonal.
    """
    c = conditional(model, hyper, x, y, p)
    f = design(model, x_new)
    kx = strict_correlation(model, x, x_new, p)
    weights = np.linalg.solve(c.K, kx)
    r = f - weights.T @ c.F
    mean = f @ c.btilde + weights.T @ (y - c.F @ c.btilde)
    cov = sigma2 * (correlation(model, x_new, p) - kx.T @ weights + r @ c.V @ r.T)
    return mean, cov - (sigma2 * noise(p) * np.eye(len(x_new)) if of == "f" else 0)
