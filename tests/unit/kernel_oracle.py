"""Extended-precision oracle of the leaf kernel, and its padded layout in NumPy (treedgp/kernel/ops.hpp)."""

import numpy as np

from treedgp import _testing

kernel = _testing.kernel
FAMILIES = {"gaussian": 0, "matern12": 1, "matern32": 2, "matern52": 3}
EPS = np.finfo(float).eps
LD = np.longdouble


def correlation(family, r2, exp=np.exp, sqrt=np.sqrt):
    """The definition, for any number type."""
    if family == "gaussian":
        return exp(-r2)
    r = sqrt(r2)
    factor = {"matern12": 1, "matern32": 1 + r, "matern52": 1 + r + r2 / 3}[family]
    return factor * exp(-r)


def squared_distances(a, b):
    """(rows of a, rows of b) in extended precision."""
    return ((a.astype(LD)[:, None, :] - b.astype(LD)[None, :, :]) ** 2).sum(axis=2)


def cholesky(a):
    """Textbook, one column after the other, in extended precision."""
    lower = np.zeros(a.shape, LD)
    for j in range(len(a)):
        column = a[j:, j].astype(LD) - lower[j:, :j] @ lower[j, :j]
        lower[j:, j] = column / np.sqrt(column[0])
    return lower


def forward_solve(lower, b):
    y = np.zeros(b.shape, LD)
    for j in range(len(b)):
        y[j] = (b[j] - lower[j, :j] @ y[:j]) / lower[j, j]
    return y


def correlation_bound(r2, dims):
    """Relative: r^2 is off by dims + 3 half-ulps, magnified by r^2 in exp; 6 for exp and the polynomial."""
    r2 = r2.astype(float)
    return EPS * (6 + (dims + 3) * np.maximum(r2, np.sqrt(r2)))


class Layout:
    """Between (n, ...) arrays and the kernel's padded panels; `fill` goes where the kernel must not look."""

    def __init__(self, isa, n):
        self.isa, self.n, self.w = isa, n, kernel.width(isa)
        self.np = -(-n // self.w) * self.w

    def columns(self, x, fill=np.nan):
        """(n, dims) -> (dims, n padded)."""
        out = np.full((x.shape[1], -(-len(x) // self.w) * self.w), fill)
        out[:, : len(x)] = x.T
        return out

    def noise(self, noise):
        return np.concatenate([np.broadcast_to(noise, self.n), np.zeros(self.np - self.n)])

    def rows(self, rows, fill=np.nan):
        """(m, n) -> extra panels; lanes of absent rows hold `fill`, padded columns 0."""
        panels = -(-len(rows) // self.w)
        out = np.full((panels * self.w, self.np), fill)
        out[: len(rows)] = np.pad(rows, ((0, 0), (0, self.np - self.n)))
        return np.ascontiguousarray(out.reshape(panels, self.w, self.np).swapaxes(1, 2)).ravel()

    def dense_rows(self, extra):
        return extra.reshape(-1, self.np, self.w).swapaxes(1, 2).reshape(-1, self.np)

    def dense(self, triangle):
        """The lower triangle, padding included."""
        out, w, start = np.zeros((self.np, self.np)), self.w, 0
        for r in range(self.np // w):
            columns = (r + 1) * w
            out[r * w : columns, :columns] = triangle[start : start + columns * w].reshape(columns, w).T
            start += columns * w
        assert start == len(triangle)
        return np.tril(out)

    def correlate(self, family, x, fill=np.nan):
        return kernel.correlate(self.isa, FAMILIES[family], self.columns(x, fill), self.n)

    def cross(self, family, x, xnew):
        """(new points padded, n padded)."""
        extra = kernel.cross(self.isa, FAMILIES[family], self.columns(x), self.n, self.columns(xnew))
        return self.dense_rows(extra)

    def factor(self, kstar, noise, rows=None, fill=np.nan):
        """(half log-determinant, packed L, extra panels, kstar afterwards)."""
        extra = np.zeros(0) if rows is None else self.rows(rows, fill)
        return kernel.factor(self.isa, kstar, self.noise(noise), extra)
