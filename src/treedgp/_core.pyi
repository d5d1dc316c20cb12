"""Types of the compiled core (cpp/bind)."""

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Arrays = dict[str, NDArray[Any]]
_Floats = NDArray[np.float64]
_Codes = NDArray[np.int32]

class ScalarPrior:
    def __init__(self, components: Sequence[tuple[float, float, float]], floor: float = 0.0) -> None: ...
    def log_p(self, x: float) -> float: ...

class RangePrior:
    def __init__(self, components: Sequence[tuple[float, float, float]], alike: float = 0.0) -> None: ...
    def log_p(self, d: Sequence[float]) -> float: ...

class SplitPrior:
    alpha: float
    beta: float
    max_depth: int

class LimitingPrior:
    allowed: bool
    gamma: float
    theta1: float
    theta2: float
    def p_linear(self, d: float) -> float: ...

class LeafPrior:
    n_range: int
    range: RangePrior
    nugget: ScalarPrior
    limiting: LimitingPrior
    tau2_random: bool
    tau2_value: float
    sigma2_explicit: bool

class InverseGammaPrior:
    a: float
    g: float
    learn_a: bool
    learn_g: bool
    rate_a: float
    rate_g: float
    shape_g: float

class Schedule:
    weights: list[float]
    tree_moves: float
    range_moves: float
    nugget_moves: float
    tune: int
    thin: int
    latent_sweeps: int
    annealed: float
    coldest: float

class CoefficientKind(Enum):
    hierarchical = 0
    flat = 1
    fixed = 2

class Family(Enum):
    gaussian = 0
    matern12 = 1
    matern32 = 2
    matern52 = 3

class LatentSampler(Enum):
    polya_gamma = 0
    metropolis = 1

class Classes:
    count: int
    label: Sequence[int]
    latent: bool
    shared_tree: bool
    sampler: LatentSampler
    block_size: int

class Spec:
    split: SplitPrior
    leaf: LeafPrior
    coefficients: CoefficientKind
    sigma2: InverseGammaPrior
    tau2: InverseGammaPrior
    schedule: Schedule

class Problem:
    def __init__(
        self,
        *,
        spec: Spec,
        family: Family,
        linear_mean: bool,
        min_leaf: int,
        x: _Floats,
        z: _Floats,
        codes: _Codes,
        categorical: Sequence[bool],
        sizes: Sequence[int],
        prior_only: bool = False,
        classes: Classes = ...,
    ) -> None: ...

def isa() -> str: ...
def start(problem: Problem, seed: int, chain: int, prior_tree: bool) -> list[_Arrays]: ...
def run(problem: Problem, state: list[_Arrays], seed: int, chain: int, begin: int, end: int) -> dict[str, Any]: ...
def moments(problem: Problem, draws: _Arrays, begin: int, end: int, x: _Floats, codes: _Codes) -> _Floats: ...
def class_shares(
    problem: Problem, draws: list[_Arrays], begin: int, end: int, x: _Floats, codes: _Codes, nodes: _Floats
) -> _Floats: ...
def joint(
    problem: Problem, draws: _Arrays, draw: int, x: _Floats, codes: _Codes
) -> tuple[_Floats, _Floats, _Floats]: ...
