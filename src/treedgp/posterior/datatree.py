"""Draws as an `xarray.DataTree` that ArviZ can read: posterior, sample_stats, observed_data, trees.

`posterior` holds what was sampled (hyperparameters in the units of the scaled response and inputs), E f at the probes
(`f`) and the noise in the user's units. `trees` holds each draw's preorder list of nodes: those from `node_start` on,
`n_nodes` of them; column -1 is a leaf. Needs the extra `treedgp[datatree]`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from treedgp.model.data import CategoricalColumn, Floats
from treedgp.model.spec import SCALAR_MOVES, TREE_MOVES

if TYPE_CHECKING:
    from xarray import DataTree

    from treedgp.posterior.posterior import Posterior


def to_datatree(post: Posterior) -> DataTree:
    try:
        from xarray import Dataset, DataTree
    except ImportError as error:
        raise ImportError(
            "to_datatree needs xarray >= 2024.10, which is not installed; run: pip install 'treedgp[datatree]'"
        ) from error
    library = {"inference_library": "treedgp"}
    problem = post.predictor.problem
    y = problem.scale.unscale(problem.z)
    by_draw = _coordinates(post, "chain", "draw")
    groups = {
        "posterior": Dataset(_posterior_variables(post), coords=_coordinates(post), attrs=library),
        "sample_stats": Dataset(
            {"lp": (("chain", "draw"), post.log_posterior)}, coords=by_draw, attrs=library | _run_facts(post)
        ),
        "observed_data": Dataset({"y": ("row", y)}, coords={"row": np.arange(len(y))}),
        "trees": Dataset(_tree_variables(post), coords=by_draw, attrs=_column_facts(post)),
    }
    return DataTree.from_dict(groups)


def _coordinates(post: Posterior, *names: str) -> dict[str, Any]:
    """Of the draws: the ones named, or all."""
    problem = post.predictor.problem
    n_coefficients = post.draws.arrays["beta0"].shape[1]
    coordinates = {
        "chain": np.arange(post.draws.n_chains),
        "draw": np.arange(post.draws.n_draws),
        "probe": np.arange(len(post.probes)),
        "coefficient": ["(intercept)", *problem.encoder.leaf_names()][:n_coefficients],
    }
    return {name: coordinates[name] for name in names or coordinates}


def _posterior_variables(post: Posterior) -> dict[str, Any]:
    arrays, spec, scale = post.draws.arrays, post.predictor.problem.spec, post.predictor.problem.scale
    by_draw = ("chain", "draw")
    linear = np.asarray(~arrays["gp"].astype(np.bool_).any(axis=1))
    noise = arrays["sigma2"] * (arrays["nugget"] + linear)
    variables: dict[str, Any] = {
        "log_posterior": (by_draw, post.log_posterior),
        "f": ((*by_draw, "probe"), post.probe_means),
        "noise_sd": (by_draw, scale.width * np.sqrt(leaf_average(post, noise))),
    }
    if post.has_tree:
        variables["n_leaves"] = (by_draw, post.n_leaves)
        variables["height"] = (by_draw, post.draws.by_chain(post.forest.height))
    if spec.leaf == "gp" and spec.limiting_linear:
        variables["share_linear_leaves"] = (by_draw, leaf_average(post, linear))
    priors = spec.priors
    learns_sigma = priors.noise.rates is not None
    learns_tau = priors.coefficients.tau2_random and priors.coefficients.rates is not None
    for i, (name, learned) in enumerate(
        [("a_sigma", learns_sigma), ("g_sigma", learns_sigma), ("a_tau", learns_tau), ("g_tau", learns_tau)]
    ):
        if learned:
            variables[name] = (by_draw, post.draws.by_chain(arrays["hyper"][:, i]))
    if priors.coefficients.kind == "hierarchical":
        variables["beta0"] = ((*by_draw, "coefficient"), post.draws.by_chain(arrays["beta0"]))
    return variables


def leaf_average(post: Posterior, values: NDArray[Any]) -> Floats:
    """(chain, draw): plain average over a draw's leaves of values (leaf)."""
    counts = post.n_leaves.ravel()
    starts = np.cumsum(counts) - counts
    return post.draws.by_chain(np.add.reduceat(values.astype(np.float64), starts) / counts)


def _run_facts(post: Posterior) -> dict[str, Any]:
    """What is known of a chain but not of a draw, each a list over chains."""
    facts: dict[str, Any] = {"tree_changes": post.tree_changes}
    for i, move in enumerate((*TREE_MOVES, *SCALAR_MOVES)):
        for j, what in enumerate(("attempted", "accepted")):
            facts[f"{what}_{move.replace(' ', '_')}"] = post.counts[:, i, j]
    return facts | {"failed_factorisations": post.failed_factorisations}


def _tree_variables(post: Posterior) -> dict[str, Any]:
    forest = post.forest
    threshold = np.full(len(forest.column), np.nan)
    for i, column in enumerate(post.split_columns):
        if not isinstance(column, CategoricalColumn):
            nodes = forest.column == i
            threshold[nodes] = column.thresholds[forest.cut[nodes]]
    return {
        "node_start": (("chain", "draw"), post.draws.by_chain(forest.node_start[:-1])),
        "n_nodes": (("chain", "draw"), post.draws.by_chain(np.diff(forest.node_start))),
        "column": ("node", forest.column),
        "cut": ("node", forest.cut),
        "threshold": ("node", threshold),
    }


def _column_facts(post: Posterior) -> dict[str, Any]:
    """What `column` and `cut` stand for."""
    levels = {
        column.name: list(column.labels) for column in post.split_columns if isinstance(column, CategoricalColumn)
    }
    return {
        "columns": [column.name for column in post.split_columns],
        "levels": json.dumps(levels),  # cut k of a categorical column: its level k goes left
    }
