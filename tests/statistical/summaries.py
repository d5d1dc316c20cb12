"""Scalar statistics of one draw of (state, sigma2, beta, response), for chains and direct simulation alike."""

from itertools import combinations

import numpy as np
from scipy.special import chdtr, gammaincc

from oracle.bridge import oracle_layer
from oracle.leaf import correlation, design
from oracle.rules import leaf_rows, rule_prior, walk
from oracle.simulate import Draw, draw_all

PIVOTS = (
    "beta pivot",
    "beta pivot of row 0",
    "residual pivot",
    "residual pivot of row 0",
    "sigma2 given (a, g)",
)
"""Uniform on (0, 1), whatever the model; also 'tau2 given (a, g)' where tau2 is random."""


def tree_statistics(model, tree):
    """Shape and rules. A rule is numbered by its place among the root's rules; 0: no split."""
    nodes = list(walk(model.split, tree))
    inner = [node for _, node, _, _ in nodes if node is not None]
    categorical = [model.split.kinds[node[0]] == "categorical" for node in inner]
    _, root, rows, _ = nodes[0]
    out = {
        "leaves": len(inner) + 1,
        "depth": max(depth for *_, depth in nodes),
        "root rule": 0 if root is None else 1 + list(rule_prior(model.split, rows)).index(root[:2]),
        "categorical share": sum(categorical) / max(len(inner), 1),
        "same column twice": len(inner) - len({node[0] for node in inner}),
    }
    for column in range(len(model.split.kinds)):
        out[f"root splits column {column}"] = root is not None and root[0] == column
    return out


def hyper_statistics(hyper):
    out = {"a_s": hyper.a_s, "g_s": hyper.g_s, "a_t": hyper.a_t, "g_t": hyper.g_t}
    out["log|W|"] = -np.linalg.slogdet(hyper.W_inv)[1]
    for i, value in enumerate(hyper.beta0):
        out[f"beta0[{i}]"] = value
        out[f"W_inv[{i},{i}]"] = hyper.W_inv[i, i]
    for i, j in combinations(range(len(hyper.beta0)), 2):
        out[f"W correlation {i},{j}"] = hyper.W_inv[i, j] / np.sqrt(hyper.W_inv[i, i] * hyper.W_inv[j, j])
    return out


def leaf_statistics(hyper, params, sigma2, beta):
    """Of the leaf that holds row 0."""
    out = {"g": params.g, "sigma2": sigma2, "tau2": params.tau2}
    for i, (d, b) in enumerate(zip(params.d, params.b, strict=True)):
        out[f"d[{i}]"], out[f"b[{i}]"] = d, b
    for i, value in enumerate(beta):
        out[f"beta[{i}]"] = value
    out["sigma2 given (a, g)"] = gammaincc(hyper.a_s / 2, hyper.g_s / 2 / sigma2)
    out["tau2 given (a, g)"] = gammaincc(hyper.a_t / 2, hyper.g_t / 2 / params.tau2)
    return out


def beta_quadratic(hyper, params, sigma2, beta):
    """(beta - beta0)' W^-1 (beta - beta0) / (sigma2 tau2)."""
    shift = beta - hyper.beta0
    return shift @ hyper.W_inv @ shift / (sigma2 * params.tau2)


def residual_terms(leaf, x, y, params, sigma2, beta):
    """(Z - F beta)' K^-1 (Z - F beta) / sigma2, and log N(Z; F beta, sigma2 K)."""
    factor = np.linalg.cholesky(correlation(leaf, x, params))
    e = np.linalg.solve(factor, y - design(leaf, x) @ beta)
    quadratic = e @ e / sigma2
    log_det = 2 * np.log(np.diag(factor)).sum() + len(y) * np.log(2 * np.pi * sigma2)
    return quadratic, -0.5 * (quadratic + log_det)


def pivot_statistics(draw, rows, at):
    """Sums over the leaves, and those of leaf `at`, by their chi-square distribution functions."""
    hyper, m = draw.state.hyper, draw.beta.shape[1]
    by_leaf = zip(draw.state.params, draw.sigma2, draw.beta, strict=True)
    q = np.array([beta_quadratic(hyper, *leaf) for leaf in by_leaf])
    return {"beta pivot": chdtr(m * len(rows), q.sum()), "beta pivot of row 0": chdtr(m, q[at])}


def response_statistics(model, draw, rows, at):
    """The residual pivots, log p(data | state), and the response itself."""
    by_leaf = zip(rows, draw.state.params, draw.sigma2, draw.beta, strict=True)
    terms = [residual_terms(model.leaf, model.x[list(r)], draw.y[list(r)], *leaf) for r, *leaf in by_leaf]
    quadratic, log_likelihood = np.array(terms).T
    return {
        "residual pivot": chdtr(len(draw.y), quadratic.sum()),
        "residual pivot of row 0": chdtr(len(rows[at]), quadratic[at]),
        "log likelihood": log_likelihood.sum(),
        "z[0]": draw.y[0],
        "sd of z": np.std(draw.y),
        "z slope": draw.y @ (model.x[:, 0] - model.x[:, 0].mean()),
    }


def statistics(model, draw, with_response=True):
    rows = leaf_rows(model.split, draw.state.tree)
    at = next(i for i, r in enumerate(rows) if 0 in r)
    hyper, params = draw.state.hyper, draw.state.params
    return {
        **tree_statistics(model, draw.state.tree),
        "rows with row 0": len(rows[at]),
        **hyper_statistics(hyper),
        **leaf_statistics(hyper, params[at], draw.sigma2[at], draw.beta[at]),
        **pivot_statistics(draw, rows, at),
        **(response_statistics(model, draw, rows, at) if with_response else {}),
    }


def table(rows):
    """{name: values} of {name: value} after {name: value}, all with the same names."""
    names, values = (), []
    for row in rows:
        names = tuple(row)
        values.append(np.array([*row.values()], dtype=float))
    return dict(zip(names, np.array(values).T, strict=True))


def chain_draws(arrays, responses):
    """The core's draw arrays as oracle Draws."""
    start = arrays["node_start"]
    for i, y in enumerate(responses):
        leaves = slice((start[i] + i) // 2, (start[i + 1] + i + 1) // 2)
        yield Draw(oracle_layer(arrays, i), arrays["sigma2"][leaves], arrays["beta"][leaves], y)


def take(arrays, kept):
    """The same arrays with the chosen draws only."""
    start = arrays["node_start"]
    nodes = np.concatenate([np.arange(start[i], start[i + 1]) for i in kept])
    leaves = np.concatenate([np.arange((start[i] + i) // 2, (start[i + 1] + i + 1) // 2) for i in kept])
    out = {"node_start": np.concatenate([[0], np.cumsum(np.diff(start)[kept])])}
    out |= {name: arrays[name][nodes] for name in ("column", "cut")}
    out |= {name: arrays[name][leaves] for name in ("range", "gp", "nugget", "sigma2", "tau2", "beta")}
    return out | {name: arrays[name][kept] for name in ("beta0", "w_inv", "hyper", "log_posterior")}


def direct_draws(case, n, rng):
    return (draw_all(case.model, case.fixed, rng, case.tau2) for _ in range(n))
