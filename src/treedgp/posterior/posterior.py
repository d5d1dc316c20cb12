"""What came out of a fit."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from treedgp.errors import ConfigError
from treedgp.model.data import CategoricalColumn, Column, Floats
from treedgp.model.spec import SCALAR_MOVES, TREE_MOVES
from treedgp.posterior.diagnostics import Description, describe
from treedgp.posterior.draws import Draws
from treedgp.posterior.health import Finding, examine
from treedgp.posterior.predict import Predictor
from treedgp.posterior.trees import Forest, Tree, canonical, make_tree, values_of_cuts

if TYPE_CHECKING:
    from xarray import DataTree

N_PROBES = 5


@dataclass(frozen=True, eq=False)
class Posterior:
    """Draws, diagnostics and prediction of a fitted model.

    `probes` are a few training rows; E f(x) at them tells whether chains agree on the surface.
    """

    predictor: Predictor
    probes: Floats  # (N_PROBES, columns)
    counts: NDArray[np.int64]  # (chain, move, 2): attempted, accepted after tuning
    failed_factorisations: int
    has_tree: bool
    timings: dict[str, float]

    @property
    def draws(self) -> Draws:
        return self.predictor.draws

    @property
    def n_leaves(self) -> NDArray[np.int64]:
        """(chain, draw)."""
        return self.draws.n_leaves

    @property
    def log_posterior(self) -> NDArray[np.float64]:
        """(chain, draw): beta and sigma2 integrated out, every prior included."""
        return self.draws.log_posterior

    @cached_property
    def probe_means(self) -> NDArray[np.float64]:
        """(chain, draw, probe): E f(x) at a few training rows."""
        return self.draws.by_chain(self.predictor.mean_by_draw(self.probes))

    @property
    def tree_changes(self) -> NDArray[np.int64]:
        """(chain): accepted tree moves after tuning."""
        changes: NDArray[np.int64] = self.counts[:, : len(TREE_MOVES), 1].sum(axis=1)
        return changes

    def descriptions(self) -> list[Description]:
        """Every scalar that is watched."""
        scalars = [describe("log_posterior", self.log_posterior)]
        if self.has_tree:
            scalars.append(describe("n_leaves", self.n_leaves, integer=True))
        scalars += [describe(f"f(probe {i})", self.probe_means[:, :, i]) for i in range(len(self.probes))]
        return scalars

    def summary(self) -> pd.DataFrame:
        """Mean, sd, quantiles, R-hat and ESS of the log posterior, the number of leaves and E f at the probes.

        `nan` is "not estimable"; the column `note` says why.
        """
        return pd.DataFrame([asdict(d) for d in self.descriptions()]).set_index("name")

    def acceptance(self) -> pd.DataFrame:
        """Proposals and acceptances of each move after tuning, all chains together."""
        totals = self.counts.sum(axis=0)
        frame = pd.DataFrame(totals, index=[*TREE_MOVES, *SCALAR_MOVES], columns=["attempted", "accepted"])
        frame = frame[frame["attempted"] > 0]
        return frame.assign(rate=frame["accepted"] / frame["attempted"])

    def health(self) -> list[Finding]:
        """What the diagnostics say, in words; `str()` of a finding is a sentence."""
        evaluations = int(self.counts[..., 0].sum())
        return examine(
            self.descriptions(),
            self.draws.n_chains,
            self.tree_changes if self.has_tree else None,
            self.failed_factorisations / max(1, evaluations),
        )

    def map_trees(self, target: object = None) -> dict[int, Tree]:
        """For each height seen, the tree of the draw with the largest log posterior; mirror trees are one tree."""
        _check_no_target(target)
        forest = self._canonical_forest
        keys = forest.keys()
        counts = Counter(keys)
        log_posterior = self.draws.arrays["log_posterior"]
        trees = {}
        for height in np.unique(forest.height):
            members = np.flatnonzero(forest.height == height)
            best = int(members[np.argmax(log_posterior[members])])
            trees[int(height)] = make_tree(
                forest.rules(best),
                self.split_columns,
                self.predictor.problem.codes,
                float(log_posterior[best]),
                counts[keys[best]],
            )
        return trees

    def split_frequencies(self, target: object = None) -> pd.Series:
        """Share of draws whose tree splits on a column, for every column that the tree may split on."""
        _check_no_target(target)
        names = [column.name for column in self.split_columns]
        shares = self.forest.splits_on(len(names)).mean(axis=0)
        return pd.Series(shares, index=pd.Index(names, name="column"), name="share of draws", dtype=float)

    def split_points(self, column: str | int) -> pd.DataFrame:
        """Every split on a column, given by name or index: chain, draw, depth (0 at the root), threshold or level.

        Thresholds are in the user's units. Where only two levels are left, the first stands for both.
        """
        index = self._split_index(column)
        split_column = self.split_columns[index]
        is_categorical = isinstance(split_column, CategoricalColumn)
        forest = self._canonical_forest if is_categorical else self.forest
        nodes = np.flatnonzero(forest.column == index)
        chain, draw = np.divmod(forest.draw[nodes], self.draws.n_draws)
        values = values_of_cuts(split_column, forest.cut[nodes])
        name = "level" if is_categorical else "threshold"
        return pd.DataFrame({"chain": chain, "draw": draw, "depth": forest.depth[nodes], name: values})

    def to_datatree(self) -> DataTree:
        """The draws as an `xarray.DataTree` that ArviZ can read; see `treedgp.posterior.datatree`."""
        from treedgp.posterior.datatree import to_datatree

        return to_datatree(self)

    @property
    def split_columns(self) -> list[Column]:
        return self.predictor.problem.encoder.split_columns

    @cached_property
    def forest(self) -> Forest:
        arrays = self.draws.arrays
        return Forest(arrays["node_start"], arrays["column"], arrays["cut"])

    @cached_property
    def _canonical_forest(self) -> Forest:
        return canonical(self.forest, self.split_columns, self.predictor.problem.codes)

    def _split_index(self, column: str | int) -> int:
        """Where a column, given by name or by its index in X, stands among the split columns."""
        encoder = self.predictor.problem.encoder
        for place, (index, split_column) in enumerate(zip(encoder.split, encoder.split_columns, strict=True)):
            if column == (split_column.name if isinstance(column, str) else index):
                return place
        names = ", ".join(split_column.name for split_column in encoder.split_columns)
        raise ConfigError(
            f"split_points needs a column that the tree may split on, got {column!r}. Those columns are: {names or '-'}"
        )


def _check_no_target(target: object) -> None:
    if target is not None:
        raise ConfigError(
            f"target names a class, and a regressor has one tree a draw: expected None, got {target!r}. Leave it out."
        )
