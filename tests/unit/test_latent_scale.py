"""One factor for the latents of all classes: its law, along the states that it reaches, against a sum over a grid."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import invgamma, multivariate_normal, norm

from oracle.class_model import core_problem, core_state, latent_law, log_labels
from oracle.rules import leaf_rows
from statistical.gates import Comparison, assert_gate
from treedgp import _testing
from unit.test_latent_draw import make_case

RATE = 1 / 12  # of g, where it is learned
BATCHES = 50


def log_density(case, draw, t, learn_g):
    """Of everything, latents less their means times c = exp(t), and of the volume that the scaling makes of one."""
    c, total, latents = np.exp(t), 0.0, []
    for layer in draw.layers:
        f, g = np.array(layer.y), layer.state.hyper.g_s * (np.exp(2 * t) if learn_g else 1)
        for leaf, rows in enumerate(map(list, leaf_rows(case.model.split, layer.state.tree))):
            mean, unit = latent_law(case.model, layer, leaf, tuple(rows))
            sigma2 = c**2 * layer.sigma2[leaf]
            f[rows] = mean + c * (f[rows] - mean)
            total += multivariate_normal(mean, sigma2 * unit).logpdf(f[rows]) + len(rows) * t
            total += invgamma(layer.state.hyper.a_s / 2, scale=g / 2).logpdf(sigma2) + 2 * t
        if learn_g:
            total += -RATE * g + 2 * t
        latents.append(f)
    return total + log_labels(np.array(latents), draw.labels)


def moments(case, draw, learn_g):
    grid = np.linspace(-6, 6, 301)
    log_p = np.array([log_density(case, draw, t, learn_g) for t in grid])
    p = np.exp(log_p - log_p.max())
    return [p @ grid**k / p.sum() for k in (1, 2)]


@pytest.mark.parametrize("learn_g", [False, True])
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("n_classes", "leaf"), [(3, "gp"), (3, "limiting"), (4, "gp")])
def test_all_classes_scale_by_one_factor(n_classes, leaf, shared, learn_g, request):
    rng = np.random.default_rng([n_classes, shared, learn_g])
    case, draw = make_case(8, "gaussian", "constant", leaf, rng, shared, n_classes, split=True)
    if learn_g:
        case = replace(case, model=replace(case.model, s2_rates=(None, RATE)))
    problem = core_problem(case, draw.labels, "polya_gamma")
    expected = moments(case, draw, learn_g)

    def attempt(seed, scale):
        log_c, stale = _testing.scale_classes(problem, core_state(problem, draw), seed, 20_000 * scale)
        np.testing.assert_allclose(log_c, np.repeat(log_c[:, :1], n_classes - 1, axis=1), atol=1e-9)
        assert not shared or stale < 1e-12
        batches = np.array([(log_c[:, 0] ** k).reshape(BATCHES, -1).mean(axis=1) for k in (1, 2)])
        z = (batches.mean(axis=1) - expected) / (batches.std(axis=1, ddof=1) / np.sqrt(BATCHES))
        return [Comparison(f"moment {k}", 2 * norm.sf(abs(value))) for k, value in enumerate(z, start=1)]

    assert_gate(attempt, request.node.name)
