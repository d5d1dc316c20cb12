"""Two samplers of the latents, one posterior. Polya-Gamma and Metropolis share the model but not how labels reach it.

On small problems where the number of leaves is in doubt, the number of leaves, the log posterior and the class
probabilities at three points agree in their means: within four Monte Carlo standard errors, or rather the gate's bound
on p-values, which for so many comparisons is that (see gates.py). Tuning does not anneal and chains start from trees of
the prior, so that agreement is not that of one start. Effective sizes: at least 1000 of every quantity in the long
form, 200 in the quick one.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from oracle.class_model import core_problem
from statistical.class_models import SAMPLERS, make_class_case, split_data
from statistical.gates import assert_gate, rejected, seed_of
from statistical.pairs import compare_chains
from treedgp import _core

N, CHAINS, TUNE = 16, 4, 500
ROWS = (2, 7, 12)  # class probabilities are asked next to these rows, on the same side of every cut


@dataclass(frozen=True)
class Config:
    family: str
    n_classes: int
    categorical: bool = False
    coefficients: str = "tau2"
    mean: str = "constant"
    learn_g: bool = False


CONFIGS = [
    Config("cgp", 2),
    Config("cgp", 3, learn_g=True),
    Config("ctgp", 2, categorical=True),
    Config("ctgp", 3),
    Config("ctgp", 3, categorical=True, coefficients="b0"),
    Config("otgp", 3),
    Config("otgp", 3, categorical=True, mean="linear"),
]
QUICK = [CONFIGS[1], CONFIGS[2], CONFIGS[5]]


def data(n_classes, categorical):
    """A step in the first input, and in the category where there is one: with some labels against it."""
    rng = np.random.default_rng([N, n_classes, categorical])
    x = rng.random((N, 2))
    levels = rng.integers(3, size=N)
    score = 2 * (x[:, 0] > 0.5) + (levels == 0) * categorical + 0.8 * rng.normal(size=N)
    labels = np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)
    return x, levels if categorical else None, labels


def make_problem(config, sampler, tune, thin, **schedule):
    case = make_class_case(
        *(config.family, config.n_classes, config.coefficients),
        learn_g=config.learn_g,
        mean=config.mean,
        centred=True,
    )
    x, levels, labels = data(config.n_classes, config.categorical)
    split = split_data(x, levels, case.model.split.alpha, 3)
    case = replace(case, model=replace(case.model, x=x, y=np.zeros(N), split=split))
    schedule = {"tree_moves": 2, "range_moves": 2, **schedule}
    problem = core_problem(case, labels, sampler, tune=tune, thin=thin, annealed=0.0, **schedule)
    return case, problem


def quantities(config, sampler, seed, rounds, thin, **schedule):
    """{name: (chain, draw)}."""
    case, problem = make_problem(config, sampler, TUNE, thin, **schedule)
    x_new = np.clip(case.model.x[list(ROWS)] + 0.01, 0, 1)
    codes = case.model.split.codes[list(ROWS)].astype(np.int32)
    nodes = np.random.default_rng(1).standard_normal((64, case.n_latents))  # the same for both samplers
    runs = []
    for chain in range(CHAINS):
        state = _core.start(problem, seed, chain, True)
        draws = _core.run(problem, state, seed, chain, 0, TUNE + rounds)["draws"]
        shares = _core.class_shares(problem, draws, 0, len(draws[0]["log_posterior"]), x_new, codes, nodes)[0]
        values = {"log posterior": draws[0]["log_posterior"]}
        for m, layer in enumerate(draws):
            leaves = (np.diff(layer["node_start"]) + 1) // 2
            values |= {f"leaves of {m}": leaves, f"{m} has one leaf": leaves == 1}
            values |= {f"p(class {m}) at point {i}": shares[:, i, m] for i in range(len(ROWS))}
        runs.append(values)
    return {name: np.array([run[name] for run in runs], dtype=float) for name in runs[0]}


def agreement(config, seed, rounds, min_ess, **schedule):
    """`rounds` of Polya-Gamma, four times as many, which cost about as much again, of Metropolis."""
    one = quantities(config, "polya_gamma", seed, rounds, 2, **schedule)
    other = quantities(config, "metropolis", seed + 1, 4 * rounds, 8)
    return [compare_chains(name, one[name], other[name], min_ess) for name in one]


@pytest.mark.parametrize("config", QUICK, ids=str)
def test_two_samplers_agree(config, request):
    assert_gate(lambda seed, scale: agreement(config, seed, 5_000 * scale, 200), request.node.name)


BRIDGES = {"tree_moves": 0, "latent_sweeps": 8}  # a bridge in every round, half of them screened, no other tree moves


@pytest.mark.parametrize("config", [CONFIGS[2], CONFIGS[5], pytest.param(CONFIGS[4], marks=pytest.mark.long)], ids=str)
def test_bridges_alone_give_the_same_trees(config, request):
    assert_gate(lambda seed, scale: agreement(config, seed, 3_000 * scale, 200, **BRIDGES), request.node.name)


@pytest.mark.long
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_two_samplers_agree_long(config, request):
    assert_gate(lambda seed, scale: agreement(config, seed, 60_000 * scale, 1000), request.node.name)


@pytest.mark.parametrize("config", [c for c in CONFIGS if c.family != "cgp"], ids=str)
def test_the_number_of_leaves_is_in_doubt(config):
    """Else agreement on it would say nothing."""
    share = quantities(config, "polya_gamma", 1, 1000, 1)["0 has one leaf"].mean()
    assert 0.1 < share < 0.9


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_two_classes_have_one_latent_and_nothing_to_share(sampler):
    """A tree for each latent and one for all are then the same, draw for draw."""
    one, other = (quantities(Config(family, 2, categorical=True), sampler, 3, 100, 1) for family in ("ctgp", "otgp"))
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


def test_a_different_noise_prior_is_seen(request):
    """Metropolis chains of a model whose g of the noise prior is fixed, not learned, do not agree."""
    config = QUICK[0]
    one = quantities(config, "polya_gamma", seed_of(request.node.name), 5_000, 2)
    other = quantities(replace(config, learn_g=False), "metropolis", 1, 20_000, 8)
    assert rejected([compare_chains(name, one[name], other[name]) for name in one])
