"""Joint-distribution tests of classification: the shipped round, alternating with new labels given the latents, leaves
the joint law of trees, parameters, latents and labels unchanged.

Only the labels are redrawn: redrawing the latents too would test nothing of their update. The labels compared are those
that the round was given: with those drawn after it, a round that ignores labels would pass. Chains from exact draws of
the joint law are compared with direct simulation, as in test_joint.py: location, spread and pairwise products of the
ranks of bounded statistics, and the pivots by the uniform law that they have exactly. After a round of the Metropolis
sampler the stored beta is stale by design, and is not looked at. False-fail rate of each gate: see gates.py.

Measured with 4 chains of 100,000 sweeps, every 50th kept: at least 6200 effective draws of 8000 of every statistic with
the Polya-Gamma sampler, 1300 to 5300 with the Metropolis sampler.
"""

from dataclasses import replace

import numpy as np
import pytest

from oracle.class_model import class_draws, core_problem, core_state, draw_all, with_model
from statistical.class_models import COEFFICIENTS, FAMILIES, SAMPLERS, make_class_case
from statistical.class_summaries import LATENT_PIVOTS, class_statistics
from statistical.gates import assert_gate, compare_with_direct, ks_uniform, rejected, seed_of, thin_by_ess
from statistical.summaries import table
from treedgp import _core, _testing

CHAINS = 4
BLOCK_SIZE = 4
SWEEPS = {"polya_gamma": (15_000, 25), "metropolis": (40_000, 40)}  # of a chain in the quick form, and thinning
# family, classes, coefficients, g of the noise prior learned, mean, kernel
QUICK = {
    "polya_gamma": [
        ("cgp", 3, "tau2", True, "constant", "gaussian"),
        ("ctgp", 3, "b0", False, "constant", "gaussian"),
        ("otgp", 3, "fixed", True, "linear", "gaussian"),
    ],
    "metropolis": [
        ("cgp", 2, "b0", False, "linear", "gaussian"),
        ("ctgp", 2, "tau2", True, "constant", "matern32"),
        ("otgp", 3, "b0", True, "constant", "gaussian"),
    ],
}


def class_case(family, n_classes, coefficients, learn_g, mean, kernel):
    min_leaf = 3 if mean == "linear" else 2
    return make_class_case(
        family, n_classes, coefficients, learn_g=learn_g, mean=mean, kernel=kernel, min_leaf=min_leaf
    )


def simulate_by_chains(case, sampler, seed, sweeps, thin, *, bridges=False, site=None, **schedule):
    """{statistic: values} of CHAINS chains, one after the other. `site`: what every site is, if they are not random."""
    rng = np.random.default_rng(seed)
    rows = []
    for chain in range(CHAINS):
        start = draw_all(case, rng)
        problem = core_problem(case, start.labels, sampler, BLOCK_SIZE, **schedule)
        state = core_state(problem, start)
        if site is not None:
            for layer in state:
                layer["site"] = np.tile(site, (len(start.labels), 1))
        drawn = _testing.joint_chain(problem, state, seed + chain, sweeps, thin, bridges)
        rows += [class_statistics(case, draw, sampler == "polya_gamma") for draw in class_draws(*drawn)]
    return table(rows)


def simulate_directly(case, sampler, n, seed):
    rng = np.random.default_rng([seed, 1])  # not the chains' starts again
    return table(class_statistics(case, draw_all(case, rng), sampler == "polya_gamma") for _ in range(n))


def pivot_comparisons(case, chain):
    kinds = (*LATENT_PIVOTS, "tau2 given (a, g)", "beta pivot")
    names = [name for name in chain if name.rsplit(" of ", 1)[0] in kinds]
    assert len(names) >= len(LATENT_PIVOTS) * case.n_latents
    by_chain = {name: chain[name].reshape(CHAINS, -1) for name in names}
    return [ks_uniform(name, np.concatenate([thin_by_ess(v) for v in by_chain[name]])) for name in names]


def joint_comparisons(case, sampler, seed, sweeps, thin, *, bridges=False):
    chain = simulate_by_chains(case, sampler, seed, sweeps, thin, bridges=bridges)
    direct = simulate_directly(case, sampler, CHAINS * sweeps // thin, seed)
    return compare_with_direct(chain, direct, (CHAINS, -1)) + pivot_comparisons(case, chain)


@pytest.mark.parametrize(("sampler", "config"), [(s, config) for s in SAMPLERS for config in QUICK[s]])
def test_the_round_of_a_classifier_keeps_the_joint_law(sampler, config, request):
    case = class_case(*config)
    sweeps, thin = SWEEPS[sampler]
    name = request.node.name
    assert_gate(lambda seed, scale: joint_comparisons(case, sampler, seed, sweeps * scale, thin), name)


@pytest.mark.parametrize(("family", "n_classes"), [("ctgp", 2), ("otgp", 3)])
def test_bridges_keep_the_joint_law(family, n_classes, request):
    """In place of rounds, so that nothing else moves the latents."""
    case = class_case(family, n_classes, "tau2", True, "constant", "gaussian")
    assert_gate(
        lambda seed, scale: joint_comparisons(case, "polya_gamma", seed, 40_000 * scale, 80, bridges=True),
        request.node.name,
    )


@pytest.mark.parametrize(
    ("family", "n_classes", "site"),
    [("ctgp", 2, (3.0, -3.0)), ("ctgp", 2, (0.3, -0.3)), ("otgp", 3, (0.3, -0.3))],
    ids=["sharp-ctgp", "wide-ctgp", "wide-otgp"],
)
def test_the_screen_of_bridges_keeps_the_joint_law(family, n_classes, site, request):
    """Trees move over bridges alone, seven in eight of them screened, by sites alike in all rows. These hold splits to
    be wrong, by a factor that lets some pass, so that an error in either stage shows in the size of the trees. Grow and
    prune unevenly, so that their weights count."""
    schedule = {"tree_moves": 0, "weights": (0.35, 0.15, 0.2, 0.1, 0.1, 0.1)}
    case = class_case(family, n_classes, "fixed", False, "constant", "gaussian")

    def attempt(seed, scale):
        sweeps, thin = 30_000 * scale, 25
        chain = simulate_by_chains(case, "polya_gamma", seed, sweeps, thin, site=site, **schedule)
        direct = simulate_directly(case, "polya_gamma", CHAINS * sweeps // thin, seed)
        names = [name for name in direct if name.startswith(("leaves", "root rule"))]
        return compare_with_direct({n: chain[n] for n in names}, {n: direct[n] for n in names}, (CHAINS, -1))

    assert_gate(attempt, request.node.name)


def simulate_by_starts(case, seed, starts, weights):
    """{statistic: values} after 20 sweeps of bridges from many exact draws, for moves that do not reach every tree."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(starts):
        start = draw_all(case, rng)
        problem = core_problem(case, start.labels, "polya_gamma", BLOCK_SIZE, weights=weights)
        drawn = _testing.joint_chain(problem, core_state(problem, start), seed + i, 20, 20, bridges=True)
        rows += [class_statistics(case, draw, True) for draw in class_draws(*drawn)]
    return table(rows)


@pytest.mark.parametrize(("family", "n_classes"), [("ctgp", 2), ("otgp", 3)])
@pytest.mark.parametrize("weights", [(0.7, 0.3, 0, 0, 0, 0), (0, 0, 0.5, 0.2, 0.15, 0.15)], ids=["size", "shape"])
def test_bridges_keep_the_joint_law_of_large_latents(weights, family, n_classes, request):
    """So that labels have much to say of the tree. Grow and prune, unevenly so that their weights count, apart from the
    moves that keep its size."""
    case = class_case(family, n_classes, "fixed", False, "constant", "gaussian")
    case = replace(case, fixed=replace(case.fixed, g_s=2000.0))

    def attempt(seed, scale):
        chain = simulate_by_starts(case, seed, 2000 * scale, weights)
        return compare_with_direct(chain, simulate_directly(case, "polya_gamma", 8000 * scale, seed), (1, -1))

    assert_gate(attempt, request.node.name)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_classes_that_share_a_tree_all_have_fresh_coefficients(sampler):
    """In whichever class's turn the tree moved: a leaf that a move has made has sigma2 = 1 and beta = 0 until drawn."""
    case = make_class_case("otgp", 3, "tau2")
    problem = core_problem(case, np.arange(len(case.model.x)) % 3, sampler, tune=0, tree_moves=5)
    run = _core.run(problem, _core.start(problem, 1, 0, True), 1, 0, 0, 500)
    assert len(set(np.diff(run["draws"][0]["node_start"]))) > 1  # trees do move
    for layer in run["draws"]:
        assert (layer["beta"] != 0).all()
        assert (layer["sigma2"] != 1).all()


@pytest.fixture(scope="module")
def honest_chains():
    """As in the quick form, of the model that the tests below damage."""
    case = class_case(*QUICK["polya_gamma"][1])
    return case, simulate_by_chains(case, "polya_gamma", seed_of("honest_chains"), *SWEEPS["polya_gamma"])


def with_leaf_prior(case, **changes):
    return with_model(case, prior=replace(case.model.prior, **changes))


DAMAGE = {
    "alpha 30% less": lambda case: with_model(case, split=replace(case.model.split, alpha=0.385)),
    "nugget rate 30% more": lambda case: with_leaf_prior(case, g=(("gamma", 1.0, 2.0, 13.0),)),
    "theta1 0.2 -> 0.28": lambda case: with_leaf_prior(case, limiting=(10.0, 0.28, 0.7)),
    "g_s 20% more": lambda case: replace(case, fixed=replace(case.fixed, g_s=1.2 * case.fixed.g_s)),
}


LONG = ("nugget rate 30% more", "theta1 0.2 -> 0.28")


@pytest.mark.parametrize("damage", [pytest.param(d, marks=pytest.mark.long if d in LONG else ()) for d in DAMAGE])
def test_the_gate_rejects_a_damaged_classifier(damage, honest_chains, request):
    case, chain = honest_chains
    direct = simulate_directly(DAMAGE[damage](case), "polya_gamma", 1500, seed_of(request.node.name))
    assert rejected(compare_with_direct(chain, direct, (CHAINS, -1)))


@pytest.mark.long
@pytest.mark.parametrize("learn_g", [False, True])
@pytest.mark.parametrize("coefficients", COEFFICIENTS)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_round_of_a_classifier_keeps_the_joint_law_long(sampler, family, n_classes, coefficients, learn_g, request):
    case = make_class_case(family, n_classes, coefficients, learn_g=learn_g)
    name = request.node.name
    assert_gate(lambda seed, scale: joint_comparisons(case, sampler, seed, 400_000 * scale, 100), name)
