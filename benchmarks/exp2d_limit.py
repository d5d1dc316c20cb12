"""What the classifier's model makes of the 2-d exponential classes, computed without chains.

The trees of the chains split this design at x1 = 0. Given that split, or none, each part of the plane has a Gaussian
process with few parameters: expectation propagation on a grid of them, weighed by evidence and prior, gives the class
probabilities that any chain must end at. So it checks the sampler, and shows what another prior would do to the error.
"""

from __future__ import annotations

import itertools
import os
from dataclasses import dataclass

import numpy as np
import pandas as pd
from classes import exp2d
from joblib import Parallel, delayed
from report import machine, table, write
from scipy import special
from scipy.linalg import solve_triangular
from scipy.stats import t

from treedgp import LengthscalePrior, LimitingPrior, _core
from treedgp.experiments.exp2d import BOX, Design

LOG_RANGES = np.arange(-4.5, 0.6, 0.5)
AMPLITUDES = (30.0, 100.0, 300.0, 1000.0)
SCALES = (30.0, 100.0, 300.0)  # of the half-t law of the amplitude
TAU2, WIDE_TAU2 = 1.0, 10.0  # variance of the mean over that of the process; the default prior's median is 1.1
NUGGET = 1e-3  # the default prior's mean


def one_kind(rate: float, alike: float | None = None) -> LengthscalePrior:
    return LengthscalePrior(weights=(1.0,), shapes=(1.0,), rates=(rate,), alike=alike)


RANGES = {
    "half G(1, 20), half G(10, 10)": LengthscalePrior(),
    **{f"G(1, {rate})": one_kind(rate) for rate in (1, 2, 4, 8, 16)},
    **{f"G(1, 2), alike {k}": one_kind(2, k) for k in (2, 5, 10, 20)},
}
SWEEPS, GAIN, TOLERANCE = 60, 0.8, 1e-4
STEPS = np.linspace(-8, 8, 801)  # standard deviations of a latent


@dataclass(frozen=True, eq=False)
class Part:
    """Rows of one region, inputs scaled as leaves see them; signs are 1 for the class that has a latent."""

    x: np.ndarray
    sign: np.ndarray
    test_x: np.ndarray
    test_sign: np.ndarray


@dataclass(frozen=True, eq=False)
class Fit:
    """One setting of a part's parameters: its evidence, and the probability of the right class in the test rows."""

    log_ranges: tuple[float, float]
    amplitude: float
    log_evidence: float
    p_right: np.ndarray


def parts(task: Design, *, split: bool) -> list[Part]:
    x, test_x = task.X.to_numpy(), task.test_X.to_numpy()

    def part(rows: np.ndarray, test_rows: np.ndarray) -> Part:
        low, width = BOX[0], BOX[1] - BOX[0]
        scaled, scaled_test = (x[rows] - low) / width, (test_x[test_rows] - low) / width
        return Part(scaled, 1 - 2 * task.y[rows], scaled_test, 1 - 2 * task.test_y[test_rows])

    if not split:
        return [part(np.full(len(x), True), np.full(len(test_x), True))]
    return [part(x[:, 0] < 0, test_x[:, 0] < 0), part(x[:, 0] > 0, test_x[:, 0] > 0)]


def tilted(mean: np.ndarray, variance: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """log integral, mean and variance of N(f; mean, variance) times the probability of the label."""
    f = mean[:, None] + np.sqrt(variance)[:, None] * STEPS
    log_weight = special.log_expit(sign[:, None] * f) - STEPS**2 / 2
    highest = log_weight.max(axis=1)
    weight = np.exp(log_weight - highest[:, None])
    total = weight.sum(axis=1)
    centre = (weight * f).sum(axis=1) / total
    spread = (weight * (f - centre[:, None]) ** 2).sum(axis=1) / total
    return np.log(total * (STEPS[1] - STEPS[0]) / np.sqrt(2 * np.pi)) + highest, centre, spread


def root(K: np.ndarray, precision: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """s = sqrt(precision) and the Cholesky factor of I + s K s."""
    s = np.sqrt(precision)
    return s, np.linalg.cholesky(np.eye(len(K)) + s[:, None] * K * s)


def propagate(K: np.ndarray, sign: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """log evidence, and the sites exp(shift f - precision f^2 / 2) in place of the labels."""
    precision, shift = np.full(len(sign), 1e-3), np.zeros(len(sign))
    before = evidence = -np.inf
    for _ in range(SWEEPS):
        s, L = root(K, precision)
        V = solve_triangular(L, s[:, None] * K, lower=True)
        covariance = K - V.T @ V
        variance, mean = np.diag(covariance), covariance @ shift
        cavity_precision = np.maximum(1 / variance - precision, 1e-10)
        cavity_shift = mean / variance - shift
        log_integral, centre, spread = tilted(cavity_shift / cavity_precision, 1 / cavity_precision, sign)
        both = cavity_precision + precision
        evidence = float(
            log_integral.sum()
            + np.log1p(precision / cavity_precision).sum() / 2
            - np.log(np.diag(L)).sum()
            + shift @ mean / 2
            + np.sum((cavity_shift**2 * precision / cavity_precision - 2 * cavity_shift * shift - shift**2) / both) / 2
        )
        if abs(evidence - before) < TOLERANCE:
            break
        before = evidence
        precision += GAIN * (np.maximum(1 / spread - cavity_precision, 1e-8) - precision)
        shift += GAIN * (centre / spread - cavity_shift - shift)
    return evidence, precision, shift


def correlation(a: np.ndarray, b: np.ndarray, log_ranges: tuple[float, float]) -> np.ndarray:
    squares = (a[:, None] - b[None]) ** 2 / np.exp(log_ranges)
    return np.asarray(np.exp(-squares.sum(axis=2)))


def fit(part: Part, log_ranges: tuple[float, float], amplitude: float, tau2: float) -> Fit | None:
    """None where rounding leaves no positive definite matrix."""
    sigma2 = amplitude**2
    K = sigma2 * (correlation(part.x, part.x, log_ranges) + tau2 + NUGGET * np.eye(len(part.x)))
    cross = sigma2 * (correlation(part.test_x, part.x, log_ranges) + tau2)
    try:
        log_evidence, precision, shift = propagate(K, part.sign)
        s, L = root(K, precision)
    except np.linalg.LinAlgError:
        return None
    V = solve_triangular(L, s[:, None] * cross.T, lower=True)
    mean = cross @ shift - V.T @ solve_triangular(L, s * (K @ shift), lower=True)
    variance = np.maximum(sigma2 * (1 + tau2 + NUGGET) - (V**2).sum(axis=0), 0)
    return Fit(log_ranges, amplitude, log_evidence, probability(part.test_sign * mean, np.sqrt(variance)))


def probability(mean: np.ndarray, sd: np.ndarray) -> np.ndarray:
    """The average of special.expit(f) over f ~ N(mean, sd^2)."""
    weight = np.exp(-(STEPS**2) / 2)
    total = sum(w * special.expit(mean + sd * z) for z, w in zip(STEPS, weight, strict=True))
    return np.asarray(total / weight.sum())


def log_prior(f: Fit, ranges: LengthscalePrior, scale: float, *, isotropic: bool) -> float:
    """Of the log ranges and the log amplitude, with all ranges in use."""
    d = np.exp(f.log_ranges[:1] if isotropic else f.log_ranges)
    law = _core.RangePrior(ranges.components(), ranges.alike or 0.0)
    limiting = LimitingPrior()
    in_use = 1 - limiting.theta1 - limiting.theta2 * special.expit(limiting.gamma * (d - 0.5))
    log_amplitude = t.logpdf(f.amplitude / scale, 5) + np.log(f.amplitude)
    return float(law.log_p(d.tolist()) + np.log(d * in_use).sum() + log_amplitude)


def averaged(fits: list[Fit], ranges: LengthscalePrior, scale: float, *, isotropic: bool) -> np.ndarray:
    """Probability of the right class, averaged over the posterior of a part's parameters."""
    fits = [f for f in fits if not isotropic or f.log_ranges[0] == f.log_ranges[1]]
    weight = np.array([f.log_evidence + log_prior(f, ranges, scale, isotropic=isotropic) for f in fits])
    weight = np.exp(weight - weight.max())
    return np.average([f.p_right for f in fits], axis=0, weights=weight)


def scores(grids: list[list[Fit]], ranges: LengthscalePrior, scale: float, *, isotropic: bool) -> tuple[float, float]:
    """Error in per cent and log loss."""
    p = np.concatenate([averaged(fits, ranges, scale, isotropic=isotropic) for fits in grids])
    return round(100 * float((p < 0.5).mean()), 2), round(float(-np.log(p).mean()), 4)


def on_grid(part: Part, tau2: float) -> list[Fit]:
    ranges = itertools.product(LOG_RANGES, LOG_RANGES)
    settings = itertools.product(ranges, AMPLITUDES)
    fits = Parallel(n_jobs=os.cpu_count())(delayed(fit)(part, *setting, tau2) for setting in settings)
    return [f for f in fits if f is not None]


def main() -> None:
    task = exp2d()
    halves = parts(task, split=True)
    designs = {
        "split": [on_grid(part, TAU2) for part in halves],
        "split, wide mean": [on_grid(part, WIDE_TAU2) for part in halves],
        "no split": [on_grid(part, TAU2) for part in parts(task, split=False)],
    }
    rows = []
    for isotropic, (name, ranges), scale in itertools.product((False, True), RANGES.items(), SCALES):
        if isotropic and ranges.alike:
            continue
        row: dict[str, str | float] = {"ranges": f"{name}, one for both" * isotropic or name, "amplitude": scale}
        for design, grids in designs.items():
            found = scores(grids, ranges, scale, isotropic=isotropic)
            row[f"{design}: error %"], row[f"{design}: log loss"] = found
        rows.append(row)
    single = [
        {
            "half": side,
            "setting": name,
            "log d1": f.log_ranges[0],
            "log d2": f.log_ranges[1],
            "amplitude": f.amplitude,
            "log evidence": round(f.log_evidence, 1),
            "wrong points": int((f.p_right < 0.5).sum()),
        }
        for side, fits in zip(("x1 < 0", "x1 > 0"), designs["split"], strict=True)
        for name, f in (
            ("most evidence", max(fits, key=lambda f: f.log_evidence)),
            ("fewest wrong", min(fits, key=lambda f: (f.p_right < 0.5).sum())),
        )
    ]
    write(
        "exp2d_limit",
        "2-d exponential classes: what the model itself gives",
        [
            machine("No peer"),
            f"Expectation propagation on a grid of ranges and amplitudes ({len(LOG_RANGES)}^2 x {len(AMPLITUDES)}), "
            f"nugget {NUGGET:g}, averaged by evidence and prior: {len(task.X)} points, tested on the other "
            f"{len(task.test_X)}. One Gaussian process either side of x1 = 0, or one for all. tau2 is {TAU2:g}, with a "
            f"wide mean {WIDE_TAU2:g}. The default is G(1, 2), alike 5, with amplitude 30; `classes.md` has what "
            "chains give under it. With one range for both inputs the process is isotropic, as in scikit-learn's GPC.",
            table(pd.DataFrame(rows)),
            f"Single settings of each half, tau2 {TAU2:g}:",
            table(pd.DataFrame(single)),
        ],
    )


if __name__ == "__main__":
    main()
