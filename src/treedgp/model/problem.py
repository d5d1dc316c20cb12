"""Model and data together: what a chain samples and a draw predicts from."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

import treedgp._core as _core
from treedgp.errors import DataError
from treedgp.model.data import Codes, Floats, InputEncoder, NumericColumn, ResponseScale
from treedgp.model.spec import ModelSpec


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, its training data as encoded, and how to encode more. The compiled form is made on first use."""

    spec: ModelSpec
    encoder: InputEncoder
    scale: ResponseScale
    x: Floats  # (n, q) leaf inputs
    codes: Codes  # (n, split columns)
    z: Floats  # (n) scaled response; in classification the label of each row, 0 .. n_classes - 1
    n_classes: int = 0  # 0: regression

    @classmethod
    def make(cls, spec: ModelSpec, encoder: InputEncoder, X: Floats, y: Floats, n_classes: int = 0) -> Problem:
        scale = ResponseScale.learn(y) if n_classes == 0 else ResponseScale(1.0, 0.0)
        x = encoder.leaf_inputs(X)
        n_rows = len(x) if spec.has_latents else 0
        schedule = spec.schedule.resolved(spec.n_ranges(x.shape[1]), n_rows, bridges=spec.has_bridges)
        spec = replace(spec, schedule=schedule)
        if spec.priors.coefficients.kind == "flat" and spec.linear_mean(x.shape[1]):
            _check_rank(x, encoder.leaf_names())
        return cls(spec, encoder, scale, x, encoder.codes(X), scale.scale(y), n_classes)

    @property
    def n_latents(self) -> int:
        return self.n_classes - 1 if self.spec.has_latents else 0

    @property
    def shares_tree(self) -> bool:
        """Whether one tree serves all classes."""
        classes = self.spec.classes
        return classes is not None and (classes.tree_sharing == "shared" or self.n_latents == 0)

    @cached_property
    def core(self) -> _core.Problem:
        q = self.x.shape[1]
        return _core.Problem(
            spec=self.spec.core_spec(q),
            family=getattr(_core.Family, self.spec.kernel),
            linear_mean=self.spec.linear_mean(q),
            min_leaf=self.spec.min_leaf(q),
            x=self.x,
            z=self.z,
            codes=self.codes,
            categorical=[not isinstance(column, NumericColumn) for column in self.encoder.split_columns],
            sizes=[column.size for column in self.encoder.split_columns],
            classes=self.spec.core_classes(self.z.astype(np.int32), self.n_classes),
        )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "core"}


def _check_rank(x: Floats, names: list[str]) -> None:
    """The flat prior needs a design (1, x) of full column rank; says which columns break it."""
    design = np.column_stack([np.ones(len(x)), x])
    dependent = []
    basis: list[Floats] = []
    for name, column in zip(["(intercept)", *names], design.T, strict=False):
        residual = column.copy()
        for q in basis:
            residual -= (q @ residual) * q
        if np.linalg.norm(residual) <= 1e-10 * np.linalg.norm(column):
            dependent.append(name)
        else:
            basis.append(residual / np.linalg.norm(residual))
    if dependent:
        raise DataError(
            f"The flat coefficient prior needs linearly independent leaf columns, but {', '.join(dependent)} "
            f"depend(s) on the intercept and the columns before. Leave them out with leaf_features, or use "
            "CoefficientPrior(kind='hierarchical')."
        )
