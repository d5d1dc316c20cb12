"""What came out of a fit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from treedgp.model.data import Floats
from treedgp.model.spec import SCALAR_MOVES, TREE_MOVES
from treedgp.posterior.diagnostics import Description, describe
from treedgp.posterior.draws import Draws
from treedgp.posterior.health import Finding, examine
from treedgp.posterior.predict import Predictor

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
