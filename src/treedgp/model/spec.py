"""One description of a model: frozen settings, turned into the core's spec and problem."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import treedgp._core as _core
from treedgp.errors import ConfigError
from treedgp.model.priors import LARGEST_COUNT, GammaMixture, NoisePrior, Priors
from treedgp.model.priors_json import priors_from_json, priors_to_json

LEAVES = ("gp", "linear", "constant")
CLASS_LEAVES = ("gp", "constant")
MEANS = ("linear", "constant")
KERNELS = ("gaussian", "matern12", "matern32", "matern52")
TREE_MOVES = ("grow", "prune", "change", "shift", "swap", "rotate")
# The share of tuning that is annealed, and the power of the likelihood where it starts. Labels say little of latents,
# which then need time at power 1 to find their amplitude.
ANNEALING, LATENT_ANNEALING = (2 / 3, 0.03), (1 / 2, 0.2)
SWEEP_ROWS, MOST_SWEEPS = 800, 8
NUGGET_FLOOR = 1e-10  # a nugget at 0 would let exactly fitted data drive the variances to 0
STEPS = ("range", "nugget", "sigma2", "tau2", "latent scale", "noise a", "noise g", "tau2 a", "tau2 g", "tau2 scale")
SCALAR_MOVES = (*STEPS, "latent block")
TREE_SHARINGS = ("per_class", "shared")
LATENT_SAMPLERS = ("polya_gamma", "metropolis")


@dataclass(frozen=True)
class Schedule:
    """How rounds are spent.

    A round makes `tree_moves` tree moves, then `range_moves` and `nugget_moves` proposals in each leaf, then the
    Gibbs draws; 0.25 moves a round is one in every fourth round. None: 3 tree moves, 1 where trees of latents have
    bridges besides, or 12 where leaves have no GP and a tree move is all a round costs; range moves by the root of the
    number of ranges, since each changes one. `weights` are the probabilities of the moves in `TREE_MOVES`. A round of
    classification with latents makes `latent_sweeps` sweeps over the classes; None: SWEEP_ROWS over the number of rows,
    at most MOST_SWEEPS, since a sweep of few rows costs little. During the first `tune` rounds step sizes adapt and, if
    `anneal`, the likelihood is annealed; after them every `thin`-th round is kept.
    """

    tune: int = 1000
    thin: int = 1
    tree_moves: float | None = None
    range_moves: float | None = None
    nugget_moves: float = 1.0
    latent_sweeps: int | None = None
    weights: tuple[float, ...] = (0.25, 0.25, 0.2, 0.1, 0.1, 0.1)
    anneal: bool = True

    def __post_init__(self) -> None:
        counts = type(self.tune) is int and type(self.thin) is int and self.tune >= 0 and self.thin >= 1
        moves = [m for m in (self.tree_moves, self.range_moves, self.nugget_moves) if m is not None]
        if not counts or not all(isinstance(m, int | float) and 0 <= m < math.inf for m in moves):
            raise ConfigError(f"Schedule: expected integers tune >= 0 and thin >= 1 and moves >= 0, got {self!r}")
        if self.latent_sweeps is not None and not (type(self.latent_sweeps) is int and self.latent_sweeps >= 1):
            raise ConfigError(f"Schedule: expected latent_sweeps to be None or an integer >= 1, got {self!r}")

    def rounds(self, draws: int) -> int:
        return self.tune + draws * self.thin

    def resolved(self, n_ranges: int, n_rows: int = 0, *, bridges: bool = False) -> Schedule:
        """With numbers in place of None; `n_rows` is that of latents, `bridges` whether their trees have them."""
        few = 1 if bridges else 3
        tree_moves = (few if n_ranges else 12) if self.tree_moves is None else self.tree_moves
        range_moves = math.ceil(math.sqrt(n_ranges)) if self.range_moves is None else self.range_moves
        sweeps = min(MOST_SWEEPS, max(1, SWEEP_ROWS // n_rows)) if n_rows else 1
        latent_sweeps = sweeps if self.latent_sweeps is None else self.latent_sweeps
        return replace(self, tree_moves=tree_moves, range_moves=range_moves, latent_sweeps=latent_sweeps)


@dataclass(frozen=True)
class ClassSpec:
    """How labels reach the trees: one tree a class or one for all, and how latents are sampled."""

    tree_sharing: str = "per_class"
    latent_sampler: str = "polya_gamma"
    latent_block_size: int = 10

    def __post_init__(self) -> None:
        _check_choice("tree_sharing", self.tree_sharing, TREE_SHARINGS)
        _check_choice("latent_sampler", self.latent_sampler, LATENT_SAMPLERS)
        size = self.latent_block_size
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not whole or not 1 <= size <= LARGEST_COUNT:
            raise ConfigError(f"latent_block_size must be an integer of at least 1 and below 2**31, got {size!r}")
        object.__setattr__(self, "latent_block_size", int(size))  # files and the core take Python's own numbers


def _check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if not isinstance(value, str) or value not in allowed:  # an array of one text is in the tuple too
        raise ConfigError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


@dataclass(frozen=True)
class ModelSpec:
    """The whole model but the data. Settings that a leaf kind does not use are ignored."""

    leaf: str = "gp"
    tree: bool = True
    limiting_linear: bool = True
    mean: str = "linear"
    kernel: str = "gaussian"
    isotropic: bool = False
    priors: Priors = field(default_factory=Priors)
    schedule: Schedule = field(default_factory=Schedule)
    classes: ClassSpec | None = None  # None: regression

    def __post_init__(self) -> None:
        _check_choice("leaf", self.leaf, LEAVES if self.classes is None else CLASS_LEAVES)
        _check_choice("mean", self.mean, MEANS)
        _check_choice("kernel", self.kernel, KERNELS)
        for name in ("tree", "limiting_linear", "isotropic"):
            value = getattr(self, name)
            if not isinstance(value, bool | np.bool_):
                raise ConfigError(f"{name} must be True or False, got {value!r}")
            object.__setattr__(self, name, bool(value))
        if not isinstance(self.priors, Priors):
            raise ConfigError(f"priors must be a treedgp.Priors object or None, got {self.priors!r}")
        if self.has_latents:
            self._check_latent_priors()

    def _check_latent_priors(self) -> None:
        if self.priors.coefficients.kind == "flat":
            raise ConfigError(
                "A classifier's latents need a proper prior: expected CoefficientPrior(kind='fixed') or "
                "'hierarchical', got 'flat'"
            )
        nugget = self.priors.nugget.fixed
        if nugget is not None and nugget < NUGGET_FLOOR:
            raise ConfigError(
                f"A classifier's latents are drawn from their correlation matrix, which needs a nugget of at least "
                f"{NUGGET_FLOOR:g} to factorise: got NuggetPrior(fixed={nugget!r})"
            )

    @property
    def has_latents(self) -> bool:
        """A classifier whose leaves are Gaussian processes of a latent, not class counts."""
        return self.classes is not None and self.leaf != "constant"

    @property
    def has_bridges(self) -> bool:
        """Whether trees also move with their latents."""
        return self.classes is not None and self.has_latents and self.classes.latent_sampler == "polya_gamma"

    def to_json(self) -> dict[str, Any]:
        nested = {
            "priors": priors_to_json(self.priors),
            "schedule": asdict(self.schedule),
            "classes": None if self.classes is None else asdict(self.classes),
        }
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in nested} | nested

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ModelSpec:
        schedule = {**value["schedule"], "weights": tuple(value["schedule"]["weights"])}
        classes = None if value["classes"] is None else ClassSpec(**value["classes"])
        nested = {"priors": priors_from_json(value["priors"]), "schedule": Schedule(**schedule), "classes": classes}
        return cls(**{**value, **nested})

    def linear_mean(self, n_leaf_columns: int) -> bool:
        return self.leaf != "constant" and self.mean == "linear" and n_leaf_columns > 0

    def n_coefficients(self, n_leaf_columns: int) -> int:
        return n_leaf_columns + 1 if self.linear_mean(n_leaf_columns) else 1

    def n_ranges(self, n_leaf_columns: int) -> int:
        if self.leaf != "gp":
            return 0
        return min(1, n_leaf_columns) if self.isotropic else n_leaf_columns

    def min_leaf(self, n_leaf_columns: int) -> int:
        return self.priors.tree.min_leaf or max(10, self.n_coefficients(n_leaf_columns) + 2)

    def core_spec(self, n_leaf_columns: int) -> _core.Spec:
        priors, spec = self.priors, _core.Spec()
        spec.split.alpha = priors.tree.alpha if self.tree else 0.0
        spec.split.beta = priors.tree.beta
        if priors.tree.max_depth is not None:
            spec.split.max_depth = min(priors.tree.max_depth, spec.split.max_depth)

        spec.leaf.n_range = self.n_ranges(n_leaf_columns)
        # Without a correlation, sigma2 (1 + g) is one parameter: the noise.
        nugget = priors.nugget if spec.leaf.n_range else GammaMixture(fixed=0.0)
        spec.leaf.range = _core.RangePrior(priors.lengthscale.components(), priors.lengthscale.alike or 0.0)
        spec.leaf.nugget = _core.ScalarPrior(nugget.components(), NUGGET_FLOOR)
        spec.leaf.limiting.allowed = self.limiting_linear
        for name in ("gamma", "theta1", "theta2"):
            setattr(spec.leaf.limiting, name, getattr(priors.limiting, name))

        coefficients = priors.coefficients
        spec.coefficients = getattr(_core.CoefficientKind, coefficients.kind)
        has_counts = self.classes is not None and not self.has_latents  # leaves without coefficients
        spec.leaf.tau2_random = coefficients.tau2_random and not has_counts
        spec.leaf.tau2_value = 1.0 if coefficients.tau2 is None else coefficients.tau2
        spec.leaf.sigma2_explicit = (
            self.has_latents and self.classes is not None and self.classes.latent_sampler == "polya_gamma"
        )
        _set_inverse_gamma(spec.sigma2, priors.noise)
        _set_inverse_gamma(spec.tau2, NoisePrior(coefficients.a, coefficients.g, coefficients.rates))

        schedule = self.schedule.resolved(spec.leaf.n_range)
        for name in ("tune", "thin", "tree_moves", "range_moves", "nugget_moves", "latent_sweeps"):
            setattr(spec.schedule, name, getattr(schedule, name))
        spec.schedule.weights = list(schedule.weights)
        share, coldest = LATENT_ANNEALING if self.has_latents else ANNEALING
        spec.schedule.annealed, spec.schedule.coldest = share if schedule.anneal else 0.0, coldest
        return spec

    def core_classes(self, labels: NDArray[np.int32], count: int) -> _core.Classes:
        """Of a classifier with these labels, 0 .. count - 1."""
        classes = _core.Classes()
        if self.classes is not None:
            classes.count, classes.label = count, labels.tolist()
            classes.latent = self.has_latents
            classes.shared_tree = self.classes.tree_sharing == "shared"
            classes.sampler = getattr(_core.LatentSampler, self.classes.latent_sampler)
            classes.block_size = self.classes.latent_block_size
        return classes


def _set_inverse_gamma(target: _core.InverseGammaPrior, prior: NoisePrior) -> None:
    target.a, target.g = prior.a, prior.g
    rate_a, rate_g = prior.rates or (None, None)
    target.learn_a, target.learn_g = rate_a is not None, rate_g is not None
    target.rate_a, target.rate_g = rate_a or 1.0, rate_g or 1.0
    target.shape_g = prior.g_shape
