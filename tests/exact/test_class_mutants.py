"""The exact check of classification can fail: one damaged term in the harness, never in shipped code, is seen.

As in test_mutants: ||pi P - pi||_1 is below 1e-10 undamaged and must be above 1e-6 damaged. Run with -s to see
the errors.
"""

from dataclasses import replace
from functools import cache
from math import lgamma, log

import numpy as np
import pytest
from class_harness import chain, fresh_vectors
from harness import TREE_MOVES, group_matrix, imbalance
from test_mutants import CLEAR, PAIR, UNDAMAGED, only_for

from oracle.classes import log_counts, log_given_sigma2
from oracle.leaf import log_M
from oracle.priors import p_fresh
from oracle.rules import leaf_rows
from oracle.target import log_ig

# ---- proposals


def log_sigma2_density(step):
    return [log_ig(p.sigma2, h.a_s, h.g_s) for p, h in zip(fresh_vectors(step), step.chain.hypers, strict=True)]


def damaged_q(step, change):
    """`change` on the side of the ratio that holds the fresh vectors."""
    side = "q_forward" if step.move == "grow" else "q_reverse"
    return step.total(**{side: step.terms[side] + change})


@only_for("grow")
def sigma2_missing_from_q_forward(step):
    return damaged_q(step, -sum(log_sigma2_density(step)))


@only_for("prune")
def sigma2_missing_from_q_reverse(step):
    return damaged_q(step, -sum(log_sigma2_density(step)))


@only_for("grow", "prune")
def sigma2_missing_from_the_prior(step):
    sign = 1 if step.move == "grow" else -1
    return step.total(params_prior=step.terms["params_prior"] - sign * sum(log_sigma2_density(step)))


@only_for("grow", "prune")
def sigma2_of_the_second_layer_missing_from_q(step):
    return damaged_q(step, -log_sigma2_density(step)[1])


@only_for("grow", "prune")
def fresh_vector_of_the_second_layer_missing_from_q(step):
    return damaged_q(step, -log(p_fresh(step.chain.prior, fresh_vectors(step)[1])))


@only_for("grow", "prune")
def sigma2_by_the_hyperparameters_of_the_first_layer(step):
    fresh, first = fresh_vectors(step)[1], step.chain.hypers[0]
    return damaged_q(step, log_ig(fresh.sigma2, first.a_s, first.g_s) - log_sigma2_density(step)[1])


@only_for("grow")
def coin_of_one_layer_omitted(step):
    return step.total(q_forward=step.terms["q_forward"] + log(2))


@only_for("prune")
def coin_of_one_layer_omitted_in_prune(step):
    return step.total(q_forward=step.terms["q_forward"] + log(2))


# ---- likelihoods: of every state, by a damaged formula for a leaf


@cache
def damaged_likelihood(case, log_leaf):
    """(states,): the sum of log_leaf(case, layer index, rows, vector) over leaves and layers."""
    out, seen = [], {}
    for tree, params in case.states:
        total = 0.0
        for rows, vectors in zip(leaf_rows(case.split, tree), zip(*params, strict=True), strict=True):
            for i, p in enumerate(vectors):
                key = i, rows, p
                if key not in seen:
                    seen[key] = log_leaf(case, i, list(rows), p)
                total += seen[key]
        out.append(total)
    return np.array(out)


def by_leaf(log_leaf):
    """The damage whose likelihood is that of `log_leaf`, in every tree move."""

    @only_for(*TREE_MOVES)
    def log_ratio(step):
        values = damaged_likelihood(step.chain, log_leaf)
        return step.total(likelihood=values[step.branch.target] - values[step.now_index])

    log_ratio.__name__ = log_leaf.__name__
    return log_ratio


def log_right(case, i, rows, p, **changed):
    """The formula of the model, with y and the noise in the layer whose turn it is, f in the others."""
    own = case.turn is not None and i == case.turn.layer
    noise = case.turn.noise[rows] if own else 0.0
    y = case.turn.y[rows] if own else case.latents[i][rows]
    given = {"noise": noise, "y": y, "p": p, "hyper": case.hypers[i]} | changed
    return log_given_sigma2(case.model.leaf, x=case.model.x[rows], **given)


def undamaged(case, i, rows, p):
    return log_right(case, i, rows, p)


def other_layers_left_out(case, i, rows, p):
    return log_right(case, i, rows, p) if i == case.turn.layer else 0.0


def noise_left_out(case, i, rows, p):
    return log_right(case, i, rows, p, noise=0.0)


def noise_in_units_of_sigma2(case, i, rows, p):
    """K + diag(nu) where K + diag(nu / sigma2) is meant."""
    return log_right(case, i, rows, p, noise=p.sigma2 * case.turn.noise[rows] if i == case.turn.layer else 0.0)


def noise_of_the_first_rows(case, i, rows, p):
    """Indexed by place in the leaf, not by row."""
    return log_right(case, i, rows, p, noise=case.turn.noise[: len(rows)] if i == case.turn.layer else 0.0)


def noise_in_every_layer(case, i, rows, p):
    """What the labels say of one class, multiplied over classes."""
    return log_right(case, i, rows, p, noise=case.turn.noise[rows])


def noise_in_gp_leaves_alone(case, i, rows, p):
    return log_right(case, i, rows, p, **({} if any(p.b) else {"noise": 0.0}))


def latent_in_place_of_y(case, i, rows, p):
    """The moves see f, which has adapted to the tree, not the labels."""
    return log_right(case, i, rows, p, y=case.latents[i][rows], noise=0.0)


def hyperparameters_of_the_first_layer(case, i, rows, p):
    return log_right(case, i, rows, p, hyper=case.hypers[0])


def sigma2_integrated_out(case, i, rows, p):
    """As in regression, the noise left to sigma2."""
    y = case.turn.y if i == case.turn.layer else case.latents[i]
    return log_M(case.model.leaf, case.hypers[i], case.model.x[rows], y[rows], p)


def sigma2_without_its_power(case, i, rows, p):
    """log |sigma2 S| taken for log |S|."""
    return log_right(case, i, rows, p) + 0.5 * len(rows) * log(p.sigma2)


def beta_at_its_mean(case, i, rows, p):
    """tau2 F W F' left out: beta conditioned on, not integrated out."""
    return log_right(case, i, rows, replace(p, tau2=1e-12))


def no_dirichlet_constant(case, i, rows, p):
    """log B(a), the same for every leaf, counts where their number changes."""
    return log_counts(case.model.labels[rows], case.model.n_classes) - lgamma(case.model.n_classes)


def one_class_too_many(case, i, rows, p):
    return log_counts(case.model.labels[rows], case.model.n_classes + 1)


def shares_at_their_estimate(case, i, rows, p):
    """Plugged in, not integrated out."""
    n = np.bincount(case.model.labels[rows])
    n = n[n > 0]
    return float((n * np.log(n / n.sum())).sum())


# ---- moves of a single leaf


@only_for("range", "nugget")
def leaf_move_counts_the_prior_twice(step):
    return step.terms["likelihood"] + step.terms["params_prior"]


@only_for("range", "nugget")
def leaf_move_without_the_noise(step):
    values = damaged_likelihood(step.chain, noise_left_out)
    return step.total(likelihood=values[step.branch.target] - values[step.now_index])


PER_CLASS = "two classes"
SHARED = "shared tree"
COUNTS = "class counts"
MUTANTS = [
    (sigma2_missing_from_q_forward, PAIR, PER_CLASS),
    (sigma2_missing_from_q_forward, PAIR, SHARED),
    (sigma2_missing_from_q_reverse, PAIR, PER_CLASS),
    (sigma2_missing_from_q_reverse, PAIR, "two classes, categorical"),
    (sigma2_missing_from_the_prior, PAIR, PER_CLASS),
    (sigma2_missing_from_the_prior, PAIR, SHARED),
    (sigma2_of_the_second_layer_missing_from_q, PAIR, SHARED),
    (fresh_vector_of_the_second_layer_missing_from_q, PAIR, "shared tree, two ranges"),
    (fresh_vector_of_the_second_layer_missing_from_q, PAIR, "shared tree, metropolis"),
    (sigma2_by_the_hyperparameters_of_the_first_layer, PAIR, SHARED),
    (coin_of_one_layer_omitted, PAIR, SHARED),
    (coin_of_one_layer_omitted, PAIR, "shared tree, metropolis"),
    (coin_of_one_layer_omitted_in_prune, PAIR, SHARED),
    *((by_leaf(other_layers_left_out), group, SHARED) for group in (PAIR, "change", "shift", "swap")),
    (by_leaf(other_layers_left_out), PAIR, "shared tree, second turn"),
    *((by_leaf(noise_left_out), group, PER_CLASS) for group in (PAIR, "change", "shift", "swap")),
    (by_leaf(noise_left_out), PAIR, SHARED),
    (by_leaf(noise_in_units_of_sigma2), PAIR, PER_CLASS),
    (by_leaf(noise_in_units_of_sigma2), PAIR, "two classes, categorical"),
    (by_leaf(noise_of_the_first_rows), PAIR, PER_CLASS),
    (by_leaf(noise_of_the_first_rows), "change", PER_CLASS),
    (by_leaf(noise_in_gp_leaves_alone), PAIR, PER_CLASS),
    (by_leaf(noise_in_every_layer), PAIR, SHARED),
    (by_leaf(noise_in_every_layer), "change", "shared tree, second turn"),
    (by_leaf(latent_in_place_of_y), PAIR, SHARED),
    (by_leaf(hyperparameters_of_the_first_layer), PAIR, SHARED),
    (by_leaf(sigma2_integrated_out), PAIR, PER_CLASS),
    (by_leaf(sigma2_integrated_out), "change", SHARED),
    (by_leaf(sigma2_without_its_power), PAIR, PER_CLASS),
    (by_leaf(beta_at_its_mean), PAIR, PER_CLASS),
    (by_leaf(no_dirichlet_constant), PAIR, COUNTS),
    (by_leaf(one_class_too_many), PAIR, COUNTS),
    (by_leaf(one_class_too_many), "change", "class counts, categorical"),
    (by_leaf(shares_at_their_estimate), PAIR, COUNTS),
    (by_leaf(shares_at_their_estimate), "swap", COUNTS),
    (leaf_move_counts_the_prior_twice, "range", "two classes, sixteen vectors"),
    (leaf_move_counts_the_prior_twice, "nugget", "two classes, sixteen vectors"),
    (leaf_move_counts_the_prior_twice, "nugget", "shared tree, categorical"),
    (leaf_move_without_the_noise, "range", "two classes, sixteen vectors"),
    (leaf_move_without_the_noise, "nugget", "shared tree, categorical"),
]


def stationary_error(case, group, log_ratio=None):
    return imbalance(case.pi, group_matrix(case, group, log_ratio))[1]


@pytest.mark.parametrize(("damage", "group", "name"), MUTANTS, ids=[f"{d.__name__}-{g}-{n}" for d, g, n in MUTANTS])
def test_the_check_sees(damage, group, name):
    case = chain(name)
    right, wrong = stationary_error(case, group), stationary_error(case, group, damage)
    print(f"{wrong:.1e}")
    assert right < UNDAMAGED
    assert wrong > CLEAR


@pytest.mark.parametrize("name", [PER_CLASS, SHARED, "shared tree, second turn"])
def test_the_damaged_formulas_differ_from_a_right_one(name):
    """What the damages of the likelihood start from is the shipped likelihood."""
    case = chain(name)
    np.testing.assert_allclose(damaged_likelihood(case, undamaged), case.target_terms["likelihood"], rtol=1e-12)
