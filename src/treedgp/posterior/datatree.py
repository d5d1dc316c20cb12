"""Draws as an `xarray.DataTree` that ArviZ can read: posterior, sample_stats, observed_data, trees.

`posterior` holds what was sampled (hyperparameters in the units of the scaled response and inputs), and at the probes
E f (`f`) with the noise in the user's units, or the class probabilities (`p`). In classification what each class but
the base has of its own has the dimension `class`. `trees` holds each tree's preorder list of nodes: those from
`node_start` on, `n_nodes` of them; column -1 is a leaf. Needs the extra `treedgp[datatree]`.
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

    from treedgp.posterior.draws import Draws
    from treedgp.posterior.posterior import Posterior


def to_datatree(post: Posterior) -> DataTree:
    try:
        from xarray import Dataset, DataTree
    except ImportError as error:
        raise ImportError(
            "to_datatree needs xarray >= 2024.10, which is not installed; run: pip install 'treedgp[datatree]'"
        ) from error
    library = {"inference_library": "treedgp"}
    observed = post.problem.scale.unscale(post.problem.z)
    if post.predictor.labels:
        observed = np.array(post.predictor.labels)[observed.astype(int)]
    by_draw = _coordinates(post, "chain", "draw")
    of_trees = _coordinates(post, "chain", "draw", "class") if _tree_a_class(post) else by_draw
    groups = {
        "posterior": Dataset(_posterior_variables(post), coords=_coordinates(post), attrs=library),
        "sample_stats": Dataset(
            {"lp": (("chain", "draw"), post.log_posterior)}, coords=by_draw, attrs=library | _run_facts(post)
        ),
        "observed_data": Dataset({"y": ("row", observed)}, coords={"row": np.arange(len(observed))}),
        "trees": Dataset(_tree_variables(post), coords=of_trees, attrs=_column_facts(post)),
    }
    return DataTree.from_dict(groups)


def _coordinates(post: Posterior, *names: str) -> dict[str, Any]:
    """Of the draws: the ones named, or all."""
    n_coefficients = post.draws.arrays["beta0"].shape[1]
    coordinates: dict[str, Any] = {
        "chain": np.arange(post.draws.n_chains),
        "draw": np.arange(post.draws.n_draws),
        "probe": np.arange(len(post.probes)),
        "coefficient": ["(intercept)", *post.problem.encoder.leaf_names()][:n_coefficients],
    }
    if post.predictor.labels:
        coordinates["class"] = np.array(post.predictor.targets)
    return {name: coordinates[name] for name in names or coordinates}


def _posterior_variables(post: Posterior) -> dict[str, Any]:
    by_draw, by_probe = ("chain", "draw"), ("chain", "draw", "probe")
    traces = np.stack(list(post.probe_traces.values()), axis=-1)
    variables: dict[str, Any] = {"log_posterior": (by_draw, post.log_posterior)}
    if post.predictor.labels:
        variables["p"] = ((*by_probe, "class"), traces.reshape(*traces.shape[:2], len(post.probes), -1))
    else:
        variables["f"] = (by_probe, traces)
        noise = post.problem.scale.width * np.sqrt(leaf_average(post.draws, _noise(post.draws)))
        variables["noise_sd"] = (by_draw, noise)
    if post.has_tree:
        n_leaves = [draws.n_leaves for draws in post.trees.values()]
        heights = [post.draws.by_chain(forest.height) for forest in post.forests.values()]
        variables["n_leaves"] = _variable(n_leaves, _tree_a_class(post))
        variables["height"] = _variable(heights, _tree_a_class(post))
    if post.problem.n_classes == 0 or post.problem.n_latents:
        variables |= _layer_variables(post)
    return variables


def _layer_variables(post: Posterior) -> dict[str, Any]:
    """What every layer has: shares of linear leaves, hyperparameters."""
    spec, by_class = post.problem.spec, bool(post.predictor.labels)
    variables: dict[str, Any] = {}
    if spec.leaf == "gp" and spec.limiting_linear:
        shares = [leaf_average(draws, _is_linear(draws)) for draws in post.layers]
        variables["share_linear_leaves"] = _variable(shares, by_class)
    priors = spec.priors
    rates = [*(priors.noise.rates or (None, None)), *(priors.coefficients.rates or (None, None))]
    for i, name in enumerate(("a_sigma", "g_sigma", "a_tau", "g_tau")):
        if rates[i] is not None and (i < 2 or priors.coefficients.tau2_random):
            values = [draws.by_chain(draws.arrays["hyper"][:, i]) for draws in post.layers]
            variables[name] = _variable(values, by_class)
    if priors.coefficients.kind == "hierarchical":
        values = [draws.by_chain(draws.arrays["beta0"]) for draws in post.layers]
        variables["beta0"] = _variable(values, by_class, "coefficient")
    return variables


def _tree_a_class(post: Posterior) -> bool:
    return post.problem.n_latents > 0 and not post.problem.shares_tree


def _variable(values: list[NDArray[Any]], by_class: bool, *dims: str) -> tuple[tuple[str, ...], NDArray[Any]]:
    """(chain, draw, *dims), or (chain, draw, class, *dims) from the values of each class."""
    if by_class:
        return ("chain", "draw", "class", *dims), np.stack(values, axis=2)
    return ("chain", "draw", *dims), values[0]


def _is_linear(draws: Draws) -> NDArray[np.bool_]:
    """(leaf)."""
    return np.asarray(~draws.arrays["gp"].astype(np.bool_).any(axis=1))


def _noise(draws: Draws) -> Floats:
    """(leaf) variance of the noise."""
    noise: Floats = draws.arrays["sigma2"] * (draws.arrays["nugget"] + _is_linear(draws))
    return noise


def leaf_average(draws: Draws, values: NDArray[Any]) -> Floats:
    """(chain, draw): plain average over a draw's leaves of values (leaf)."""
    counts = draws.n_leaves.ravel()
    starts = np.cumsum(counts) - counts
    return draws.by_chain(np.add.reduceat(values.astype(np.float64), starts) / counts)


def _run_facts(post: Posterior) -> dict[str, Any]:
    """What is known of a chain but not of a draw, each a list over chains."""
    facts: dict[str, Any] = {"tree_changes": post.tree_changes}
    for i, move in enumerate((*TREE_MOVES, *SCALAR_MOVES)):
        for j, what in enumerate(("attempted", "accepted")):
            facts[f"{what}_{move.replace(' ', '_')}"] = post.counts[:, i, j]
    return facts | {"failed_factorisations": post.failed_factorisations}


def _tree_variables(post: Posterior) -> dict[str, Any]:
    """The nodes of all trees, those of one class after the other."""
    forests, by_class = list(post.forests.values()), _tree_a_class(post)
    column, cut = (np.concatenate([getattr(forest, name) for forest in forests]) for name in ("column", "cut"))
    threshold = np.full(len(column), np.nan)
    for i, split_column in enumerate(post.split_columns):
        if not isinstance(split_column, CategoricalColumn):
            nodes = column == i
            threshold[nodes] = split_column.thresholds[cut[nodes]]
    first = np.cumsum([0, *(len(forest.column) for forest in forests)])
    starts = [post.draws.by_chain(forest.node_start[:-1] + at) for forest, at in zip(forests, first[:-1], strict=True)]
    sizes = [post.draws.by_chain(np.diff(forest.node_start)) for forest in forests]
    return {
        "node_start": _variable(starts, by_class),
        "n_nodes": _variable(sizes, by_class),
        "column": ("node", column),
        "cut": ("node", cut),
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
