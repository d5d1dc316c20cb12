"""Convergence diagnostics of scalar traces.

A trace is an array (chain, draw). Definitions follow Vehtari, Gelman, Simpson, Carpenter and Bürkner
(2021), "Rank-normalization, folding, and localization: an improved R-hat for assessing convergence of
MCMC", Bayesian Analysis 16(2), 667-718. Each chain is cut into its first and last half; the middle draw
of an odd number is left out.

``nan`` means "not estimable", never "fine". It is the answer for

* fewer than `MIN_DRAWS` draws a chain;
* a trace with a value that is not finite;
* a trace that is constant and equal in all chains: nothing was seen to move;
* the ESS and Monte Carlo error of a trace that is constant in each chain but differs between them (its
  R-hat is infinite);
* the ESS of a quantile that separates no draws (almost all draws are tied);
* the R-hat of a single chain, which would have nothing to disagree with.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import next_fast_len
from scipy.special import ndtri
from scipy.stats import rankdata

from treedgp.errors import DataError

Array = NDArray[np.float64]

MIN_DRAWS = 10
"""Fewest draws a chain. A half chain of 4 has one pair of lags, so its ESS would not depend on the data."""

NO_CHANGE = "no change seen"
CHAINS_DISAGREE = "chains disagree"
NOT_FINITE = "values not finite"
TOO_FEW_DRAWS = "too few draws"
ONE_CHAIN = "one chain"


@dataclass(frozen=True)
class Description:
    """Summary of one scalar trace; ``nan`` is "not estimable"."""

    name: str
    mean: float
    sd: float
    q5: float
    q50: float
    q95: float
    rhat: float
    ess_bulk: float
    ess_tail: float
    mcse_mean: float
    note: str = ""


def describe(name: str, values: ArrayLike, integer: bool = False) -> Description:
    """Summarise a trace (chain, draw).

    Parameters
    ----------
    name : str
        Name of the quantity.
    values : array-like of shape (chain, draw)
        Its draws.
    integer : bool
        Whether the quantity takes integer values; it then has no tail ESS, since a quantile of a few
        tied values says little about the tails.
    """
    trace = _as_trace(values)
    note = _note(trace)
    if trace.size == 0 or not np.isfinite(trace).all():
        nan = float("nan")
        return Description(name, nan, nan, nan, nan, nan, nan, nan, nan, nan, note)
    unit, exponent = _to_unit_scale(trace)
    moments = (_mean(unit), _sd(unit), *np.quantile(unit, (0.05, 0.5, 0.95)))
    mean, sd, q5, q50, q95 = (float(np.ldexp(moment, exponent)) for moment in moments)
    return Description(
        name=name,
        mean=mean,
        sd=sd,
        q5=q5,
        q50=q50,
        q95=q95,
        rhat=rhat(trace),
        ess_bulk=ess_bulk(trace),
        ess_tail=float("nan") if integer else ess_tail(trace),
        mcse_mean=mcse_mean(trace),
        note=note,
    )


def rhat(values: ArrayLike) -> float:
    """Rank-normalised split R-hat: the larger of the bulk (location) and folded (scale) values."""
    trace = _as_trace(values)
    if not _is_estimable(trace) or len(trace) < 2:
        return float("nan")
    halves = _split(_to_unit_scale(trace)[0])
    folded = np.abs(halves - np.median(halves))
    return float(np.fmax(_rhat(halves), _rhat(folded)))


def ess_bulk(values: ArrayLike) -> float:
    """Effective sample size of the rank-normalised draws."""
    trace = _as_trace(values)
    if not _is_estimable(trace) or _is_still(_split(trace)):
        return float("nan")
    return _ess(_rank_normalise(_split(trace)))


def ess_tail(values: ArrayLike) -> float:
    """Effective sample size of the tails: the smaller one of the 5% and the 95% quantile."""
    trace = _as_trace(values)
    if not _is_estimable(trace) or _is_still(_split(trace)):
        return float("nan")
    unit, _ = _to_unit_scale(trace)
    low, high = (_split((unit <= q).astype(float)) for q in np.quantile(unit, (0.05, 0.95)))
    return float(np.minimum(_ess(low), _ess(high)))


def mcse_mean(values: ArrayLike) -> float:
    """Monte Carlo standard error of the mean of all draws."""
    trace = _as_trace(values)
    if not _is_estimable(trace) or _is_still(_split(trace)):
        return float("nan")
    unit, exponent = _to_unit_scale(trace)
    return float(np.ldexp(np.std(unit, ddof=1) / np.sqrt(_ess(_split(unit))), exponent))


def _as_trace(values: ArrayLike) -> Array:
    trace = np.asarray(values, dtype=np.float64)
    if trace.ndim != 2:
        raise DataError(
            f"a trace must have shape (chain, draw), got {trace.ndim} dimension(s) {trace.shape}; "
            "reshape it, a single chain to (1, draw)"
        )
    return trace


def _is_estimable(trace: Array) -> bool:
    return trace.shape[0] >= 1 and trace.shape[1] >= MIN_DRAWS and bool(np.isfinite(trace).all())


def _is_still(chains: Array) -> bool:
    """Whether no chain ever moves; chains may differ from each other."""
    return bool((chains == chains[:, :1]).all())


def _note(trace: Array) -> str:
    if not np.isfinite(trace).all():
        return NOT_FINITE
    if not _is_estimable(trace):
        return TOO_FEW_DRAWS
    if _is_still(trace):
        return NO_CHANGE if (trace == trace[0, 0]).all() else CHAINS_DISAGREE
    return ONE_CHAIN if len(trace) == 1 else ""


def _split(trace: Array) -> Array:
    """First and last halves as separate chains, (2 chain, draw // 2)."""
    half = trace.shape[1] // 2
    return np.vstack((trace[:, :half], trace[:, -half:]))


def _rank_normalise(chains: Array) -> Array:
    """Normal scores of the pooled average ranks, with Blom's offset 3/8."""
    ranks = rankdata(chains).reshape(chains.shape)
    scores: Array = ndtri((ranks - 3 / 8) / (chains.size + 1 / 4))
    return scores


def _rhat(chains: Array) -> float:
    """Potential scale reduction of the rank-normalised chains; ``inf`` if still and different."""
    if _is_still(chains):
        return float("nan") if (chains == chains[0, 0]).all() else float("inf")
    z = _rank_normalise(chains)
    n = z.shape[1]
    within = np.var(z, axis=1, ddof=1).mean()
    between = n * np.var(z.mean(axis=1), ddof=1)
    return float(np.sqrt((between / within + n - 1) / n))


def _ess(chains: Array) -> float:
    """Effective sample size of the mean of all values, by Geyer's initial monotone sequence.

    With rho_t the autocorrelation at lag t combined over chains and P_k = rho_2k + rho_2k+1, K is the
    first k with P_k <= 0, and

        tau = -1 + 2 sum_{k<K} min(P_0, ..., P_k) + max(rho_2K, 0),    ESS = N / tau.

    The last term reduces the variance for antithetic chains, and tau >= 1 / log10(N) bounds the ESS.
    """
    if (chains == chains[0, 0]).all():
        return float("nan")
    n = chains.shape[1]
    autocovariance = _autocovariance(chains)  # (chain, lag)
    within = autocovariance[:, 0].mean() * n / (n - 1)
    total = within * (n - 1) / n + np.var(chains.mean(axis=1), ddof=1)
    rho = 1 - (within - autocovariance.mean(axis=0)) / total
    rho[0] = 1

    pairs = rho[0 : n - 1 : 2] + rho[1:n:2]
    last = (n - 3) // 2  # the longest lags are too noisy to use
    negative = np.flatnonzero(pairs[:last] <= 0)
    stop = int(negative[0]) if negative.size else last
    # A pair that is positive where the draws run out counts by its even lag, whatever that lag's sign.
    tail = rho[2 * stop] if pairs[stop] >= 0 else max(rho[2 * stop], 0.0)
    tau = -1 + 2 * np.minimum.accumulate(pairs[:stop]).sum() + tail
    return float(chains.size / max(tau, 1 / np.log10(chains.size)))


def _autocovariance(chains: Array) -> Array:
    """Biased autocovariance of each chain at lags 0..draw-1, (chain, lag), by FFT."""
    n = chains.shape[1]
    size = next_fast_len(2 * n, real=True)  # zero padding: no wrap-around
    spectrum = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), n=size, axis=1)
    power = (spectrum * spectrum.conj()).real
    autocovariance: Array = np.fft.irfft(power, n=size, axis=1)[:, :n] / n
    return autocovariance


def _to_unit_scale(trace: Array) -> tuple[Array, int]:
    """The trace times a power of two, at most 1 in size: squares neither overflow nor vanish."""
    exponent = int(np.frexp(np.abs(trace).max())[1])
    return np.ldexp(trace, -exponent), exponent


def _mean(trace: Array) -> float:
    # The rounded mean of equal values need not be that value.
    return float(trace[0, 0] if (trace == trace[0, 0]).all() else trace.mean())


def _sd(trace: Array) -> float:
    if trace.size < 2:
        return float("nan")
    return 0.0 if (trace == trace[0, 0]).all() else float(np.std(trace, ddof=1))
