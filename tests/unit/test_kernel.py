"""The leaf kernel of every instruction set against 50-digit (small n) and extended-precision oracles.

Tolerances are a small constant times EPS times what theory allows: the growth of rounding in forming r^2 for
correlations, n for backward errors, a condition number for forward errors.
"""

import os
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from kernel_oracle import (
    EPS,
    FAMILIES,
    LD,
    Layout,
    cholesky,
    correlation,
    correlation_bound,
    forward_solve,
    kernel,
    squared_distances,
)

ISAS = kernel.isas()
SIZES = [*range(1, 71), 127, 128, 129, 400]
FEWER_SIZES = [*range(1, 18), 31, 32, 33, 65, 70, 127, 128]


def points(n, dims=2, scale=2.0, seed=0):
    return np.random.default_rng([seed, n, dims]).uniform(0, scale, (n, dims))


def check_factor(layout, kstar, noise, rows, label):
    """L, log-determinant and whitened rows of the kernel's own kstar + noise; returns the whitened rows."""
    n, before = layout.n, kstar.copy()
    half_logdet, packed, extra, after = layout.factor(kstar, noise, rows)
    assert after.tobytes() == before.tobytes(), f"{label}: kstar was modified"

    lower = layout.dense(packed)
    k = layout.dense(kstar)[:n, :n].astype(LD)
    a = k + np.tril(k, -1).T + np.diag(np.broadcast_to(noise, n)).astype(LD)
    largest, condition = float(a.diagonal().max()), np.linalg.cond(a.astype(float))
    got = lower[:n, :n].astype(LD)
    assert np.abs(got @ got.T - a).max() <= (n + 8) * EPS * largest, f"{label}: L L'"
    assert np.array_equal(lower[n:], np.eye(layout.np)[n:]), f"{label}: padding of L"

    exact = cholesky(a)
    forward = 10 * EPS * condition
    assert abs(half_logdet - np.log(exact.diagonal()).sum()) <= forward + n * EPS, f"{label}: log-determinant"

    whitened = layout.dense_rows(extra)
    want = forward_solve(exact, rows.T.astype(LD)).T
    error = np.linalg.norm((whitened[: len(rows), :n] - want).astype(float), axis=1)
    assert (error <= forward * np.linalg.norm(want.astype(float), axis=1)).all(), f"{label}: whitened rows"
    assert (whitened[: len(rows), n:] == 0).all(), f"{label}: padding of the rows"
    return whitened[: len(rows), :n]


def orthogonalise(layout, rows, count=None):
    count = len(rows) if count is None else count
    extra, r = kernel.orthogonalise(layout.isa, layout.rows(rows), layout.np, count)
    q, r = layout.dense_rows(extra), r.reshape(count, count).T
    assert (q[:count, layout.n :] == 0).all()
    q[:count] *= np.divide(1, r.diagonal(), out=np.zeros(count), where=r.diagonal() > 0)[:, None]
    return q[: len(rows), : layout.n], r


def check_orthogonalise(layout, rows, label):
    q, r = orthogonalise(layout, rows)
    norms = np.linalg.norm(rows, axis=1)
    assert np.array_equal(r, np.triu(r)), f"{label}: R upper triangular"
    assert (r.diagonal() >= 0).all(), f"{label}: sign of R"
    n = rows.shape[1]
    residual = np.linalg.norm((rows.T.astype(LD) - q.T.astype(LD) @ r).astype(float), axis=0)
    assert (residual <= (n + 8) * EPS * norms).all(), f"{label}: A = Q R"
    if len(rows) > n:
        return
    condition = np.linalg.cond(rows / norms[:, None])
    gram = rows.astype(LD) @ rows.T.astype(LD)
    scale = np.outer(np.ones(len(rows)), norms)
    assert (np.abs(q @ q.T - np.eye(len(rows))) <= (n + 8) * EPS * condition).all(), f"{label}: Q'Q = I"
    if condition < 1e7:  # the Cholesky factor of A'A in extended precision is an oracle for R only then
        error = np.abs((r - cholesky(gram).T).astype(float))
        assert (error <= (n + 8) * EPS * condition * scale).all(), f"{label}: R"


@pytest.fixture(params=ISAS)
def isa(request):
    return request.param


@pytest.mark.parametrize("family", FAMILIES)
def test_correlations(isa, family):
    for n in SIZES:
        dims = n % 4
        x, layout = points(n, dims, scale=3.0), Layout(isa, n)
        r2 = squared_distances(x, x)
        got = layout.dense(layout.correlate(family, x))
        want = np.tril(correlation(family, r2))
        assert (np.abs(got[:n, :n] - want) <= correlation_bound(r2, dims) * want).all(), n
        assert (got.diagonal() == 1).all(), n
        assert np.array_equal(got[n:], np.eye(layout.np)[n:]), n


@pytest.mark.parametrize("family", FAMILIES)
def test_cross_correlations(isa, family):
    for n, new in [(1, 1), (3, 8), (8, 9), (13, 5), (64, 17), (129, 30)]:
        x, xnew, layout = points(n), points(new, seed=1), Layout(isa, n)
        r2 = squared_distances(xnew, x)
        want = correlation(family, r2)
        got = layout.cross(family, x, xnew)[:new]
        assert (np.abs(got[:, :n] - want) <= correlation_bound(r2, 2) * want).all(), (n, new)
        assert (got[:, n:] == 0).all(), (n, new)


@pytest.mark.parametrize("family", FAMILIES)
def test_factor_and_orthogonalise(isa, family):
    for n in SIZES if family == "gaussian" else FEWER_SIZES:
        rng, x, layout = np.random.default_rng(n), points(n), Layout(isa, n)
        rows = np.vstack([np.ones(n), x.T, rng.normal(size=n)])
        noise = 0.01 * rng.uniform(0.5, 2, n)
        whitened = check_factor(layout, layout.correlate(family, x), noise, rows, f"n = {n}")
        check_orthogonalise(layout, whitened, f"n = {n}")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_end_to_end_against_50_digits(isa, family, n):
    x, layout = points(n), Layout(isa, n)
    with mpmath.workdps(50):
        a = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                r2 = sum((mpmath.mpf(s) - mpmath.mpf(t)) ** 2 for s, t in zip(x[i], x[j], strict=True))
                a[i, j] = correlation(family, r2, mpmath.exp, mpmath.sqrt) + (i == j) * mpmath.mpf(0.01)
        exact = mpmath.cholesky(a)
        want = np.array(exact.tolist(), float)
        want_logdet = float(sum(mpmath.log(exact[i, i]) for i in range(n)))
        want_white = np.array([float(v) for v in mpmath.lu_solve(exact, mpmath.matrix([1] * n))])
    half_logdet, lower, extra, _ = layout.factor(layout.correlate(family, x), 0.01, np.ones((1, n)))
    forward = 10 * EPS * np.linalg.cond(want) ** 2
    assert np.abs(layout.dense(lower)[:n, :n] - want).max() <= forward
    assert abs(half_logdet - want_logdet) <= forward
    assert np.abs(layout.dense_rows(extra)[0, :n] - want_white).max() <= forward * np.linalg.norm(want_white)


@pytest.mark.parametrize("n", [10, 17, 64, 70, 129])
@pytest.mark.parametrize("case", ["duplicate rows", "long ranges"])
def test_nearly_singular(isa, case, n):
    x = np.repeat(points(n), 2, axis=0)[:n] if case == "duplicate rows" else points(n, scale=0.05)
    layout, rows = Layout(isa, n), np.vstack([np.ones(n), np.sin(np.arange(n))])
    kstar = layout.correlate("gaussian", x)
    assert np.linalg.cond(layout.dense(kstar) + np.tril(layout.dense(kstar), -1).T) > 1e9
    whitened = check_factor(layout, kstar, 1e-8, rows, case)
    check_orthogonalise(layout, whitened, case)


def test_pivots_of_any_size(isa):
    """A diagonal matrix, whose product of pivots leaves the range of a double."""
    for noise in (1e300, 1e30, 1e-12 - 1):
        layout = Layout(isa, 70)
        kstar = layout.correlate("gaussian", 100.0 * np.arange(70)[:, None])
        half_logdet, *_ = layout.factor(kstar, noise)
        want = 35 * np.log(LD(1) + LD(noise))
        assert abs(half_logdet - want) <= 70 * EPS * abs(want)


def test_not_positive_definite_is_nan(isa):
    for n in (1, 8, 19):
        layout = Layout(isa, n)
        kstar = layout.correlate("matern52", points(n))
        for i in range(n):
            noise = np.full(n, 0.1)
            noise[i] = -2.0
            assert np.isnan(layout.factor(kstar, noise, np.ones((3, n)))[0]), (n, i)


def test_exactly_singular_is_nan(isa):
    layout = Layout(isa, 2)
    assert np.isnan(layout.factor(layout.correlate("gaussian", np.ones((2, 1))), 0.0)[0])


def test_nan_inputs_give_nan(isa):
    layout, x = Layout(isa, 19), points(19)
    x[7] = np.nan
    assert np.isnan(layout.factor(layout.correlate("gaussian", x), 0.1)[0])


def test_no_dimensions_means_all_correlations_one(isa):
    for n in (1, 7, 30):
        layout = Layout(isa, n)
        kstar = layout.correlate("matern32", np.zeros((n, 0)))
        assert np.array_equal(layout.dense(kstar)[:n, :n], np.tril(np.ones((n, n))))
        half_logdet, *_ = layout.factor(kstar, 0.5)
        want = 0.5 * ((n - 1) * np.log(0.5) + np.log(0.5 + n))  # det(11' + g I)
        assert abs(half_logdet - want) <= 10 * EPS * (n + 0.5) / 0.5


def test_padding_never_leaks(isa):
    """Whatever sits in padded points and absent rows, the real part keeps its bits."""
    for n in (1, 6, 13, 33):
        x, layout = points(n), Layout(isa, n)
        rows = np.vstack([np.ones(n), x.T])
        results = []
        for fill in (0.0, np.nan, 1e200):
            kstar = layout.correlate("matern52", x, fill)
            half_logdet, lower, extra, _ = layout.factor(kstar, 0.01, rows, fill)
            q, r = kernel.orthogonalise(isa, extra, layout.np, 3)
            real = [layout.dense(t) for t in (kstar, lower)] + [layout.dense_rows(e)[:3] for e in (extra, q)]
            results.append([part.tobytes() for part in [np.array(half_logdet), r, *real]])
        assert results[0] == results[1] == results[2], n


def exp_reference():
    """x in [-708, 0] with exp(x) to twice double precision as high + low."""
    rng = np.random.default_rng(0)
    ties = (np.arange(0, 1020) + 0.5) * np.log(2)  # where the rounding to a power of two is decided
    spread, near, tiny = rng.uniform(0, 708, 8000), rng.uniform(0, 1, 4000), 10.0 ** -rng.uniform(0, 300, 500)
    x = -np.concatenate([spread, near, tiny, ties, ties * (1 + EPS), ties * (1 - EPS), [0.0, 700.0, 708.0]])
    with mpmath.workdps(50):
        exact = [mpmath.exp(v) for v in x.tolist()]
        high = np.array([float(v) for v in exact])
        low = np.array([float(v - h) for v, h in zip(exact, high.tolist(), strict=True)])
    return x, high, low


def kernel_exp(isa, x):
    """exp(x), x <= 0, through matern12 of one dimension: sqrt(x^2) = |x| exactly."""
    layout = Layout(isa, 1)
    return layout.cross("matern12", np.zeros((1, 1)), -x[:, None])[: len(x), 0]


@pytest.fixture(scope="module")
def exp_cases():
    return exp_reference()


def test_exp_within_two_ulp(isa, exp_cases):
    """Also the guard against -ffast-math, under which the rounding to powers of two collapses."""
    x, high, low = exp_cases
    ulps = np.abs((kernel_exp(isa, x) - high) - low) / np.spacing(high)
    assert ulps.max() <= 2, (ulps.max(), x[ulps.argmax()])
    assert kernel_exp(isa, np.array([-0.0, 0.0, -1e-17, -1e-300])).tolist() == [1, 1, 1, 1]


def test_large_distances_correlate_exactly_zero(isa):
    last = kernel_exp(isa, np.array([-708.0]))[0]
    assert last >= np.finfo(float).tiny  # normal, not subnormal
    assert (kernel_exp(isa, -np.array([708.0 * (1 + EPS), 709.0, 745.0, 1e4, 1e18, 1e150, 1e300])) == 0).all()
    for family in FAMILIES:
        layout = Layout(isa, 2)
        kstar = layout.correlate(family, np.array([[0.0], [1e200]]))
        assert np.array_equal(layout.dense(kstar)[:2, :2], np.eye(2)), family


@pytest.mark.parametrize("family", FAMILIES)
def test_instruction_sets_agree_to_rounding(family):
    n, x = 61, points(61)
    bound = 2 * np.tril(correlation_bound(squared_distances(x, x), 2))
    results = {}
    for isa in ISAS:
        layout = Layout(isa, n)
        kstar = layout.correlate(family, x)
        half_logdet, *_ = layout.factor(kstar, 0.01)
        results[isa] = layout.dense(kstar)[:n, :n], half_logdet
    k, half_logdet = results["scalar"]
    condition = np.linalg.cond(k + np.tril(k, -1).T + 0.01 * np.eye(n))
    for other_k, other_logdet in results.values():
        assert (np.abs(other_k - k) <= bound * k).all()
        assert abs(other_logdet - half_logdet) <= 20 * EPS * condition


@pytest.mark.parametrize(("n", "count"), [(30, 1), (30, 4), (31, 9), (7, 7), (400, 20), (3, 6), (1, 3)])
def test_orthogonalise_random_rows(isa, n, count):
    rows = np.random.default_rng(n).normal(size=(count, n)) * 10.0 ** np.arange(count)[:, None]
    check_orthogonalise(Layout(isa, n), rows, f"{count} rows")


def test_orthogonalise_drops_dependent_and_zero_rows(isa):
    n = 37
    a, b, c = np.random.default_rng(1).normal(size=(3, n))
    layout = Layout(isa, n)
    rows = np.array([a, np.zeros(n), b, a, 2 * a - 3 * b, c, 0.5 * c])
    q, r = orthogonalise(layout, rows)
    dropped = np.array([False, True, False, True, True, False, True])
    assert np.array_equal(r.diagonal() == 0, dropped)
    assert (q[dropped] == 0).all()
    assert (r[dropped] == 0).all()
    assert np.abs(q @ q.T - np.diag(~dropped)).max() <= 10 * n * EPS
    assert np.abs(q.T @ r - rows.T).max() <= 10 * n * EPS


def test_orthogonalise_keeps_a_nearly_dependent_row(isa):
    n = 24
    a, b = np.random.default_rng(2).normal(size=(2, n))
    _, r = orthogonalise(Layout(isa, n), np.array([a, a + 1e-12 * b]))
    assert 0 < r[1, 1] < 1e-10


def test_orthogonalise_leaves_other_panels_alone(isa):
    rows = np.random.default_rng(3).normal(size=(17, 11))
    q, _ = orthogonalise(Layout(isa, 11), rows, count=3)
    assert np.array_equal(q[8:], rows[8:])  # a panel has at most 8 rows


@pytest.mark.parametrize("n", [1, 7, 8, 30, 33, 129])
def test_inverse_of_a_factor(isa, n):
    """As good as solving for the unit vectors, padding that of the identity."""
    layout = Layout(isa, n)
    _, packed, _, _ = layout.factor(layout.correlate("gaussian", points(n)), 0.1, np.ones((1, n)))
    got = layout.dense_rows(kernel.invert(isa, packed, layout.np))
    lower = layout.dense(packed)
    want = forward_solve(lower.astype(LD), np.eye(layout.np, dtype=LD)).T.astype(float)
    assert np.abs(got - want).max() <= 10 * (n + 8) * EPS * np.linalg.cond(lower) * np.abs(want).max()
    assert np.array_equal(got, np.triu(got))


@pytest.mark.parametrize("n", [1, 7, 8, 30, 33, 129])
def test_rows_solved_by_a_factor(isa, n):
    """To the bit what they become when they ride along with the factorisation."""
    layout, rows = Layout(isa, n), np.random.default_rng(n).normal(size=(11, n))
    _, packed, want, _ = layout.factor(layout.correlate("gaussian", points(n)), 0.1, rows)
    got = kernel.solve(isa, packed, layout.rows(rows), layout.np)
    assert np.array_equal(layout.dense_rows(got)[: len(rows)], layout.dense_rows(want)[: len(rows)])


@pytest.mark.parametrize("n", [1, 7, 8, 30, 33, 129])
def test_rows_times_a_factor_and_its_inverse(isa, n):
    """L x and L^-T x, to rounding; padding stays 0 and rows that are not there never leak."""
    layout, rows = Layout(isa, n), np.random.default_rng(n).normal(size=(11, n))
    _, packed, _, _ = layout.factor(layout.correlate("gaussian", points(n)), 0.1)
    lower = layout.dense(packed)[:n, :n].astype(LD)

    product = layout.dense_rows(kernel.multiply(isa, packed, layout.rows(rows), layout.np))[: len(rows)]
    bound = (n + 8) * EPS * (np.abs(rows) @ np.abs(lower.astype(float)).T)
    assert (np.abs(product[:, :n] - (rows.astype(LD) @ lower.T).astype(float)) <= bound).all()
    assert (product[:, n:] == 0).all()

    solved = layout.dense_rows(kernel.solve_transposed(isa, packed, layout.rows(rows), layout.np))[: len(rows)]
    residual = np.abs((solved[:, :n].astype(LD) @ lower - rows).astype(float))
    assert (residual <= (n + 8) * EPS * (np.abs(solved[:, :n]) @ np.abs(lower.astype(float)))).all()
    assert (solved[:, n:] == 0).all()


def chosen_isa(value):
    code = "from treedgp import _testing; print(_testing.kernel.chosen_isa())"
    env = {**os.environ, "TREEDGP_ISA": value}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)


def test_environment_variable_forces_an_instruction_set():
    assert chosen_isa("scalar").stdout.strip() == "scalar"
    refused = chosen_isa("mmx")
    assert refused.returncode != 0
    assert "SamplerError: TREEDGP_ISA: expected one of" in refused.stderr
    assert "got 'mmx'" in refused.stderr


@pytest.mark.parametrize(("n", "rows_a", "rows_b"), [(1, 1, 1), (30, 4, 9), (33, 12, 70), (129, 41, 17)])
def test_products_of_rows(isa, n, rows_a, rows_b):
    rng = np.random.default_rng([n, rows_a, rows_b])
    layout = Layout(isa, n)
    a, b = rng.normal(size=(rows_a, n)), rng.normal(size=(rows_b, n))
    products, norms = kernel.products(isa, layout.rows(a), layout.rows(b), layout.np)
    got = products.reshape(len(norms), -1)[:rows_b, :rows_a].T
    want = (a.astype(LD) @ b.T.astype(LD)).astype(float)
    scale = np.outer(np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1))
    assert (np.abs(got - want) <= (n + 8) * EPS * scale).all()
    squares = (b.astype(LD) ** 2).sum(axis=1).astype(float)
    assert (np.abs(norms[:rows_b] - squares) <= (n + 8) * EPS * squares).all()
