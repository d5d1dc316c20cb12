"""What came out of a fit."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from treedgp.errors import ConfigError
from treedgp.model.data import CategoricalColumn, Column, Floats
from treedgp.model.problem import Problem
from treedgp.model.spec import SCALAR_MOVES, TREE_MOVES
from treedgp.posterior.classes import ClassPredictor
from treedgp.posterior.diagnostics import Description, describe
from treedgp.posterior.draws import Draws
from treedgp.posterior.health import Finding, examine
from treedgp.posterior.predict import Predictor
from treedgp.posterior.trees import Forest, Tree, canonical, make_tree, values_of_cuts
from treedgp.words import quoted

if TYPE_CHECKING:
    from xarray import DataTree

N_PROBES = 5
# Those that propose correlation matrices: sigma2 where points have noise of their own, which is relative to it.
FACTORISED_MOVES = (*TREE_MOVES, "range", "nugget", "sigma2")


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """Draws, diagnostics and prediction of a fitted model.

    `probes` are a few training rows; E f(x), or the class probabilities, at them tell whether chains agree on the
    surface.
    """

    predictor: Predictor | ClassPredictor
    probes: Floats  # (N_PROBES, columns)
    counts: NDArray[np.int64]  # (chain, move, 2): attempted, accepted after tuning
    failed_factorisations: int  # after tuning
    has_tree: bool
    timings: dict[str, float]

    def __repr__(self) -> str:
        n_chains, n_draws = self.draws.n_chains, self.draws.n_draws
        classes = f", {len(self.predictor.labels)} classes" if self.predictor.labels else ""
        return (
            f"<Posterior: {n_chains} chain{'s' if n_chains > 1 else ''} of {n_draws} draws{classes}; "
            "see summary(), acceptance(), health(), map_trees(), split_frequencies()>"
        )

    @property
    def problem(self) -> Problem:
        return self.predictor.problem

    @property
    def layers(self) -> tuple[Draws, ...]:
        """The draws of each function: one in regression, one for each class but the base in classification."""
        return self.predictor.layers

    @property
    def draws(self) -> Draws:
        """Those of the first layer; what is not a layer's own is the same in all."""
        return self.layers[0]

    @property
    def trees(self) -> dict[object, Draws]:
        """The layers that have a tree of their own, by the class they are for; None where one tree serves all."""
        if self.problem.n_latents and not self.problem.shares_tree:
            return dict(zip(self.predictor.targets, self.layers, strict=True))
        return {None: self.draws}

    @property
    def tree_targets(self) -> tuple[object, ...]:
        """What to ask trees of: each class that has its own, or None alone where one tree serves all."""
        return tuple(self.trees)

    @property
    def n_leaves(self) -> NDArray[np.int64]:
        """(chain, draw): of all trees of a draw together."""
        total: NDArray[np.int64] = np.sum([draws.n_leaves for draws in self.trees.values()], axis=0)
        return total

    @property
    def log_posterior(self) -> NDArray[np.float64]:
        """(chain, draw): beta and sigma2 integrated out, every prior included.

        In classification log p(labels | latents) + log p(latents | trees, parameters) + priors.
        """
        return self.draws.log_posterior

    @cached_property
    def probe_traces(self) -> dict[str, NDArray[np.float64]]:
        """(chain, draw) by name: E f(x), or the probability of each class but the base, at a few training rows."""
        return {name: self.draws.by_chain(v) for name, v in self.predictor.probe_traces(self.probes).items()}

    @property
    def tree_changes(self) -> NDArray[np.int64]:
        """(chain): accepted tree moves after tuning."""
        changes: NDArray[np.int64] = self.counts[:, : len(TREE_MOVES), 1].sum(axis=1)
        return changes

    @property
    def watched(self) -> dict[str, NDArray[Any]]:
        """(chain, draw) of every scalar in the summary, by name."""
        leaves = {
            "n_leaves" if target is None else f"n_leaves[{target}]": draws.n_leaves
            for target, draws in self.trees.items()
        }
        return {"log_posterior": self.log_posterior, **(leaves if self.has_tree else {}), **self.probe_traces}

    def descriptions(self) -> list[Description]:
        """Every scalar that is watched."""
        return [describe(name, values, integer=values.dtype.kind == "i") for name, values in self.watched.items()]

    def summary(self) -> pd.DataFrame:
        """Mean, sd, quantiles, R-hat and ESS of the log posterior, the number of leaves and the surface at the probes.

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
        moves = [*TREE_MOVES, *SCALAR_MOVES]
        proposals = int(self.counts[:, [moves.index(move) for move in FACTORISED_MOVES], 0].sum())
        no_split = self._why_no_split() if self.has_tree else []
        findings = examine(
            self.descriptions(),
            self.draws.n_chains,
            self.tree_changes if self.has_tree and not no_split else None,
            min(1.0, self.failed_factorisations / max(1, proposals)),  # a tree move may propose several
        )
        return no_split + findings

    def _why_no_split(self) -> list[Finding]:
        """A finding if not even the root can split: then a tree that never changes is no sign of a stuck chain."""
        problem = self.problem
        n, least = problem.x.shape[0], problem.spec.min_leaf(problem.x.shape[1])
        if n < 2 * least:
            text = f"{n} rows are too few for a split: a leaf holds at least {least}."
            return [Finding("info", text, "Use more rows, or a smaller TreePrior(min_leaf=...).")]
        for column, codes in zip(self.split_columns, problem.codes.T, strict=True):
            counts = np.bincount(codes)
            left = counts if isinstance(column, CategoricalColumn) else np.cumsum(counts)  # rows, for each cut
            if ((left >= least) & (n - left >= least)).any():
                return []
        text = f"The tree cannot split: no rule on its columns leaves at least {least} rows on both sides."
        return [Finding("info", text, "Look at split_features, or use a smaller TreePrior(min_leaf=...).")]

    def map_trees(self, target: object = None) -> dict[int, Tree]:
        """For each height seen, the most probable tree; mirror trees are one tree.

        It is that of the draw with the largest log posterior. Where the log posterior holds the density of latents,
        whose ups and downs hide the tree, it is the tree of most draws, and the largest log posterior of these.
        `target` is the class whose tree is meant; needed only where there are several.
        """
        forest = self._canonical_forests[self._tree_of(target)]
        keys = forest.keys()
        counts = Counter(keys)
        log_posterior = self.draws.arrays["log_posterior"]
        visits = np.array([counts[key] for key in keys]) if self.problem.n_latents else np.zeros(len(keys))
        order = np.lexsort((log_posterior, visits))  # by visits, then by log posterior
        trees = {}
        for height in np.unique(forest.height):
            best = int(order[forest.height[order] == height][-1])
            trees[int(height)] = make_tree(
                forest.rules(best),
                self.split_columns,
                self.problem.codes,
                float(log_posterior[best]),
                counts[keys[best]],
            )
        return trees

    def map_tree(self, target: object = None) -> Tree:
        """The most probable tree of all heights, by the same rule."""
        return max(self.map_trees(target).values(), key=self.tree_rank)

    def tree_rank(self, tree: Tree) -> tuple[int, float]:
        """What trees of `map_trees` are compared by: draws where there are latents, else the log posterior."""
        return (tree.n_draws if self.problem.n_latents else 0, tree.log_posterior)

    def split_frequencies(self, target: object = None) -> pd.Series:
        """Share of draws whose tree splits on a column, for every column that the tree may split on.

        `target` is the class whose tree is meant; None: any tree of the draw.
        """
        names = [column.name for column in self.split_columns]
        forests = list(self.forests.values()) if target is None else [self.forests[self._tree_of(target)]]
        splits = np.any([forest.splits_on(len(names)) for forest in forests], axis=0)
        index = pd.Index(names, name="column")
        return pd.Series(splits.mean(axis=0), index=index, name="share of draws", dtype=float)

    def split_points(self, column: str | int, target: object = None) -> pd.DataFrame:
        """Every split on a column, given by name or index: chain, draw, depth (0 at the root), threshold or level.

        Thresholds are in the user's units. Where only two levels are left, the first stands for both. `target` is the
        class whose tree is meant; needed only where there are several.
        """
        index = self._split_index(column)
        split_column = self.split_columns[index]
        is_categorical = isinstance(split_column, CategoricalColumn)
        forest = (self._canonical_forests if is_categorical else self.forests)[self._tree_of(target)]
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
        return self.problem.encoder.split_columns

    @cached_property
    def forests(self) -> dict[object, Forest]:
        """The trees, by the class they are for; None where one tree serves all."""
        return {
            target: Forest(draws.arrays["node_start"], draws.arrays["column"], draws.arrays["cut"])
            for target, draws in self.trees.items()
        }

    @cached_property
    def _canonical_forests(self) -> dict[object, Forest]:
        columns, codes = self.split_columns, self.problem.codes
        return {target: canonical(forest, columns, codes) for target, forest in self.forests.items()}

    def _tree_of(self, target: object) -> object:
        """Which of `trees` is meant by a class label."""
        targets = self.predictor.targets
        if target is None:
            if len(self.trees) == 1:
                return next(iter(self.trees))
            raise ConfigError(
                f"Each class has its own tree: expected target to be one of {quoted(targets)}, got None. "
                "Say target=label."
            )
        if not targets:
            raise ConfigError(
                f"target names a class, and a regressor has one tree a draw: expected None, got {target!r}. "
                "Leave it out."
            )
        try:
            place = targets.index(target)
        except (ValueError, TypeError):  # no such label, or nothing that compares with one
            raise ConfigError(
                f"target must be one of {quoted(targets)} (the last class is the base, which has no tree of its own), "
                f"got {target!r}."
            ) from None
        return list(self.trees)[place if len(self.trees) > 1 else 0]

    def _split_index(self, column: str | int) -> int:
        """Where a column, given by name or by its index in X, stands among the split columns."""
        encoder = self.problem.encoder
        for place, (index, split_column) in enumerate(zip(encoder.split, encoder.split_columns, strict=True)):
            if isinstance(column, str | Integral) and column in (index, split_column.name):
                return place
        names = ", ".join(split_column.name for split_column in encoder.split_columns)
        raise ConfigError(
            "split_points needs the name or index of a column that the tree may split on, got "
            f"{column!r}. Those columns are: {names or '-'}"
        )
