"""Convergence diagnostics against arviz-stats, known answers and their invariances."""

import warnings

import numpy as np
import pytest
from arviz_stats.base import array_stats
from hypothesis import given, settings
from hypothesis import strategies as st

from treedgp.errors import DataError
from treedgp.posterior.diagnostics import (
    MIN_DRAWS,
    Description,
    describe,
    ess_bulk,
    ess_tail,
    mcse_mean,
    rhat,
)

FUNCTIONS = (rhat, ess_bulk, ess_tail, mcse_mean)


def ar1(rng: np.random.Generator, phi: float, chains: int, draws: int) -> np.ndarray:
    """Stationary AR(1) chains with unit variance."""
    x = rng.standard_normal((chains, draws))
    x[:, 1:] *= np.sqrt(1 - phi**2)
    for t in range(1, draws):
        x[:, t] += phi * x[:, t - 1]
    return x


def reference(x: np.ndarray) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # 0/0 where the folded draws are constant
        return {
            "rhat": float(array_stats.rhat(x, method="rank")) if len(x) > 1 else float("nan"),
            "ess_bulk": float(array_stats.ess(x, method="bulk")),
            "ess_tail": float(array_stats.ess(x, method="tail", prob=0.05)),
            "mcse_mean": float(array_stats.mcse(x, method="mean")),
        }


def separates_nothing(x: np.ndarray, q: float) -> bool:
    """Whether all draws kept by the split are on one side of a quantile."""
    half = x.shape[1] // 2
    below = np.delete(x, half, axis=1) if x.shape[1] % 2 else x
    below = below <= np.quantile(x, q)
    return bool(below.all() or not below.any())


MAKERS = {
    "independent": lambda rng, c, n: rng.standard_normal((c, n)),
    "positively correlated": lambda rng, c, n: ar1(rng, 0.95, c, n),
    "antithetic": lambda rng, c, n: ar1(rng, -0.9, c, n),
    "heavy-tailed": lambda rng, c, n: rng.standard_cauchy((c, n)),
    "counts": lambda rng, c, n: rng.poisson(3, (c, n)).astype(float),
    "coins": lambda rng, c, n: rng.integers(2, size=(c, n)).astype(float),
    "random walks": lambda rng, c, n: rng.standard_normal((c, n)).cumsum(axis=1),
    "shifted chains": lambda rng, c, n: rng.standard_normal((c, n)) + 3 * rng.standard_normal((c, 1)),
    "scaled chains": lambda rng, c, n: rng.standard_normal((c, n)) * rng.gamma(2, size=(c, 1)),
    "far from zero": lambda rng, c, n: 1e4 + rng.standard_normal((c, n)),
}


@pytest.mark.parametrize("draws", [10, 11, 12, 13, 14, 25, 100, 501, 1000])
@pytest.mark.parametrize("chains", range(1, 9))
@pytest.mark.parametrize("kind", MAKERS)
def test_agrees_with_arviz(kind: str, chains: int, draws: int) -> None:
    rng = np.random.default_rng([draws, chains, *kind.encode()])
    for _ in range(3):
        x = MAKERS[kind](rng, chains, draws)
        expected = reference(x)
        if separates_nothing(x, 0.05) or separates_nothing(x, 0.95):
            expected["ess_tail"] = float("nan")  # arviz-stats gives the number of draws
        actual = {function.__name__: function(x) for function in FUNCTIONS}
        assert actual == pytest.approx(expected, rel=1e-8, abs=0, nan_ok=True)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_too_few_draws(function) -> None:
    x = np.random.default_rng(0).standard_normal((4, MIN_DRAWS))
    assert np.isfinite(function(x))
    assert np.isnan(function(x[:, :-1]))
    assert np.isnan(function(x[:, :0]))
    assert np.isnan(function(x[:0]))
    assert describe("x", x[:, :-1]).note == "too few draws"
    assert describe("x", x[:, :0]).note == "too few draws"


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(function, bad: float) -> None:
    x = np.random.default_rng(0).standard_normal((4, 50))
    x[2, 7] = bad
    assert np.isnan(function(x))
    described = describe("x", x)
    assert described.note == "values not finite"
    assert np.isnan(described.mean)
    assert np.isnan(described.rhat)


@pytest.mark.parametrize("value", [0.0, 0.1, 3.0, 1e300, -1e-300])
@pytest.mark.parametrize("chains", [1, 4])
@pytest.mark.parametrize("draws", [100, 101])
def test_constant_and_equal_is_not_estimable(value: float, chains: int, draws: int) -> None:
    x = np.full((chains, draws), value)
    assert all(np.isnan(function(x)) for function in FUNCTIONS)
    described = describe("x", x)
    assert described.note == "no change seen"
    assert (described.mean, described.sd) == (value, 0.0)
    assert (described.q5, described.q50, described.q95) == (value, value, value)


@pytest.mark.parametrize("levels", [(1.0, 2.0), (0.1, 0.1, 0.1, 0.3), (5.0, 5.0 + 1e-12)])
@pytest.mark.parametrize("draws", [100, 101])
def test_constant_but_different_fails(levels: tuple[float, ...], draws: int) -> None:
    x = np.tile(np.array(levels)[:, np.newaxis], (1, draws))
    assert rhat(x) == np.inf
    assert np.isnan(ess_bulk(x))
    assert np.isnan(ess_tail(x))
    assert np.isnan(mcse_mean(x))
    described = describe("x", x)
    assert described.note == "chains disagree"
    assert described.mean == pytest.approx(np.mean(levels))
    assert described.rhat == np.inf


def test_one_moving_chain_is_estimable() -> None:
    x = np.ones((4, 100))
    x[0, 50:] = 2.0
    x[0, 70] = 1.0
    described = describe("x", x)
    assert described.note == ""
    assert described.rhat > 1.01
    assert described.ess_bulk < 400


def test_same_location_but_different_scale_is_seen_by_folding() -> None:
    signs = np.random.default_rng(0).permuted(np.tile([-1.0, 1.0], (2, 200)), axis=1)
    assert rhat(signs * [[1.0], [3.0]]) == np.inf
    assert rhat(signs) < 1.05


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_mostly_tied_draws_have_no_tail_ess(sign: float) -> None:
    x = np.zeros((4, 250))
    x[:, ::50] = sign
    # Below: both quantiles are 0 and "at most 0" holds always. Above: it separates the rare draws.
    assert np.isnan(ess_tail(x)) == (sign < 0)
    assert np.isfinite(ess_bulk(x))


def test_integers_have_no_tail_ess() -> None:
    x = np.random.default_rng(1).poisson(3, size=(4, 300))
    described = describe("leaves", x, integer=True)
    assert np.isnan(described.ess_tail)
    assert described.ess_bulk == ess_bulk(x) > 0
    assert np.isfinite(describe("leaves", x).ess_tail)


def test_description_of_an_ordinary_trace() -> None:
    x = np.random.default_rng(2).gamma(2.0, size=(4, 500))
    q5, q50, q95 = np.quantile(x, (0.05, 0.5, 0.95))
    expected = Description(
        "x", x.mean(), x.std(ddof=1), q5, q50, q95, rhat(x), ess_bulk(x), ess_tail(x), mcse_mean(x), ""
    )
    described = describe("x", x)
    assert (described.name, described.note) == ("x", "")
    numbers = [v for v in vars(described).values() if isinstance(v, float)]
    assert len(numbers) == 9
    assert numbers == pytest.approx([v for v in vars(expected).values() if isinstance(v, float)], rel=1e-12)
    with pytest.raises(AttributeError):
        described.mean = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.9])
def test_ar1_has_the_known_ess(phi: float) -> None:
    # ESS / N = (1 - phi) / (1 + phi) for the mean. 200 replications: the Monte Carlo error of the average
    # is below 1%, the estimator's own bias at this length about 2%.
    rng = np.random.default_rng(3)
    sizes = [1 / mcse_mean(x) ** 2 * x.var(ddof=1) for x in (ar1(rng, phi, 4, 1000) for _ in range(200))]
    assert np.mean(sizes) == pytest.approx(4000 * (1 - phi) / (1 + phi), rel=0.06)


def test_mcse_is_the_spread_of_the_mean() -> None:
    # Sampling error of the spread of 400 means: 1 / sqrt(800) = 3.5%; four of them are allowed.
    rng = np.random.default_rng(4)
    runs = [ar1(rng, 0.7, 4, 500) for _ in range(400)]
    spread = np.std([x.mean() for x in runs], ddof=1)
    assert np.sqrt(np.mean([mcse_mean(x) ** 2 for x in runs])) == pytest.approx(spread, rel=0.14)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_extreme_scales(scale: float) -> None:
    x = ar1(np.random.default_rng(5), 0.5, 4, 200)
    plain, scaled = describe("x", x), describe("x", x * scale)
    assert scaled.sd == pytest.approx(plain.sd * scale, rel=1e-12)
    assert scaled.mcse_mean == pytest.approx(plain.mcse_mean * scale, rel=1e-12)
    assert (scaled.rhat, scaled.ess_bulk, scaled.ess_tail) == pytest.approx(
        (plain.rhat, plain.ess_bulk, plain.ess_tail), rel=1e-12
    )


@pytest.mark.parametrize("shape", [(100,), (2, 50, 3), ()])
def test_shape_is_checked(shape: tuple[int, ...]) -> None:
    for function in FUNCTIONS:
        with pytest.raises(DataError, match=r"\(chain, draw\)"):
            function(np.zeros(shape))


@st.composite
def traces(draw: st.DrawFn) -> np.ndarray:
    """Continuous and tied traces of every small shape."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(sorted(MAKERS)))
    return MAKERS[kind](rng, draw(st.integers(1, 8)), draw(st.integers(MIN_DRAWS, 80)))


@settings(deadline=None)
@given(traces(), st.integers(-20, 20), st.integers(-50, 50))
def test_affine_invariance(x: np.ndarray, exponent: int, shift: int) -> None:
    x = np.round(x * 2**10)  # whole numbers: the map below keeps every tie and every order
    y = x * 2.0**exponent + shift * 2.0**exponent
    assert [rhat(y), ess_bulk(y), ess_tail(y)] == pytest.approx(
        [rhat(x), ess_bulk(x), ess_tail(x)], rel=1e-9, nan_ok=True
    )
    assert mcse_mean(y) == pytest.approx(mcse_mean(x) * 2.0**exponent, rel=1e-6, nan_ok=True)


@settings(deadline=None)
@given(traces())
def test_reflection(x: np.ndarray) -> None:
    assert [rhat(-x), ess_bulk(-x), mcse_mean(-x)] == pytest.approx(
        [rhat(x), ess_bulk(x), mcse_mean(x)], rel=1e-6, nan_ok=True
    )


@settings(deadline=None)
@given(traces())
def test_bulk_ess_depends_on_ranks_only(x: np.ndarray) -> None:
    ranks = np.searchsorted(np.unique(x), x).astype(float)
    assert ess_bulk(ranks) == pytest.approx(ess_bulk(x), rel=1e-12, nan_ok=True)
    assert ess_bulk(ranks**3) == pytest.approx(ess_bulk(x), rel=1e-12, nan_ok=True)


@settings(deadline=None)
@given(traces())
def test_order_of_chains_does_not_matter(x: np.ndarray) -> None:
    assert [f(x[::-1]) for f in FUNCTIONS] == pytest.approx([f(x) for f in FUNCTIONS], rel=1e-6, nan_ok=True)


@settings(deadline=None)
@given(traces())
def test_bounds(x: np.ndarray) -> None:
    most = x.size * np.log10(x.size)
    for size in (ess_bulk(x), ess_tail(x)):
        assert np.isnan(size) or 0 < size <= most * (1 + 1e-12)
    half = x.shape[1] // 2
    assert np.isnan(rhat(x)) == (len(x) == 1 or bool((x == x[0, 0]).all()))
    assert not rhat(x) < np.sqrt((half - 1) / half) * (1 - 1e-12)
