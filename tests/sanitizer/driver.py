"""Plays every configuration of the core once, for a sanitizer to watch: python driver.py DIRECTORY_OF_CORE ROUNDS.

The compiled module in that directory takes the place of the installed one. Prints the instruction set and the
number of configurations played.
"""

import importlib.util
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path


def load_core(directory):
    """`treedgp._core` from this directory, before anything imports the installed one."""
    (path,) = Path(directory).glob("_core.*")
    spec = importlib.util.spec_from_file_location("treedgp._core", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["treedgp._core"] = module
    spec.loader.exec_module(module)
    return module


_core = load_core(sys.argv[1])
ROUNDS = int(sys.argv[2])

import numpy as np  # noqa: E402

import treedgp.model.problem as problem_module  # noqa: E402
from treedgp import CoefficientPrior, Priors, TreePrior  # noqa: E402
from treedgp.model.data import InputEncoder  # noqa: E402
from treedgp.model.priors import CLASS_PRIORS  # noqa: E402
from treedgp.model.problem import Problem  # noqa: E402
from treedgp.model.spec import KERNELS, LATENT_SAMPLERS, TREE_SHARINGS, ClassSpec, ModelSpec, Schedule  # noqa: E402

assert problem_module._core is _core

COEFFICIENTS = (
    CoefficientPrior(),
    CoefficientPrior(kind="flat"),
    CoefficientPrior(kind="fixed"),
    CoefficientPrior(kind="fixed", tau2=2.0),
)
LEAVES = [
    *[
        {"leaf": "gp", "kernel": kernel, "isotropic": isotropic}
        for kernel, isotropic in product(KERNELS, (False, True))
    ],
    {"leaf": "gp", "mean": "constant"},
    {"leaf": "gp", "limiting_linear": False},
    {"leaf": "linear"},
    {"leaf": "constant"},
]
# Which columns the tree splits on; column 2 is categorical.
SPLITS = {"no tree": None, "numeric": (0, 1), "categorical": (2,), "both": (0, 1, 2)}


def data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), np.arange(n) % 3])
    X[n // 2 :, 0] = np.round(X[n // 2 :, 0], 1)  # ties
    return X, np.sin(6 * X[:, 0]) + X[:, 2] * X[:, 1] + 0.1 * rng.standard_normal(n)


def play(settings, coefficients, split, n, min_leaf=None, rounds=ROUNDS):
    X, y = data(n)
    encoder = InputEncoder.learn(X, ["a", "b", "c"], {2}, split or (), (0, 1))
    priors = Priors(tree=TreePrior(alpha=0.9, beta=1.0, min_leaf=min_leaf), coefficients=coefficients)
    spec = ModelSpec(tree=split is not None, priors=priors, schedule=Schedule(tune=rounds // 2), **settings)
    problem = Problem.make(spec, encoder, X, y)
    state = _core.start(problem.core, 1, 0, True)
    out = _core.run(problem.core, state, 1, 0, 0, rounds)
    assert np.isfinite(out["state"][0]["log_posterior"]).all()
    (kept,) = out["draws"]
    for rows in (0, 1, 7, 8, 9, 40):
        fresh = data(max(rows, 1), seed=1)[0][:rows] * 1.5 - 0.2
        x, codes = encoder.leaf_inputs(fresh), encoder.codes(fresh)
        draws = len(kept["log_posterior"])
        moments = _core.moments(problem.core, kept, max(0, draws - 10), draws, x, codes)
        assert np.isfinite(moments).all()
        mean, _, cov = _core.joint(problem.core, kept, draws - 1, x, codes)
        assert np.allclose(mean, moments[0, -1], rtol=1e-6, atol=1e-8)
        assert np.allclose(np.diag(cov), moments[1, -1], rtol=1e-4, atol=1e-8)
    return problem, kept


def play_classes(classes, leaf, split, n, n_classes, rounds=ROUNDS):
    """A block of 4 latents divides no leaf's rows evenly for long."""
    X, y = data(n)
    labels = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes)).astype(float)
    encoder = InputEncoder.learn(X, ["a", "b", "c"], {2}, split or (), (0, 1))
    priors = replace(CLASS_PRIORS, tree=TreePrior(alpha=0.9, beta=1.0, min_leaf=4))
    schedule = Schedule(tune=rounds // 2, latent_sweeps=1)
    spec = ModelSpec(
        leaf=leaf, tree=split is not None, mean="constant", priors=priors, schedule=schedule, classes=classes
    )
    problem = Problem.make(spec, encoder, X, labels, n_classes)
    out = _core.run(problem.core, _core.start(problem.core, 1, 0, True), 1, 0, 0, rounds)
    assert np.isfinite(out["state"][0]["log_posterior"]).all()
    nodes = np.random.default_rng(2).standard_normal((16, max(1, n_classes - 1)))
    for rows in (0, 1, 9, 40):
        fresh = data(max(rows, 1), seed=1)[0][:rows] * 1.5 - 0.2
        x, codes = encoder.leaf_inputs(fresh), encoder.codes(fresh)
        draws = len(out["draws"][0]["log_posterior"])
        shares = _core.class_shares(problem.core, out["draws"], max(0, draws - 10), draws, x, codes, nodes)
        assert np.allclose(shares.sum(axis=3), 1)


def refuse(problem, draws):
    """An exception crosses the border too."""
    for name in ("column", "beta"):
        damaged = dict(draws) | {name: draws[name][:-1].copy()}
        try:
            _core.moments(problem.core, damaged, 0, 1, problem.x, problem.codes)
        except ValueError:
            continue
        raise AssertionError(f"a shorter {name} was accepted")


played = 0
for settings, coefficients, split in product(LEAVES, COEFFICIENTS, SPLITS.values()):
    refuse(*play(settings, coefficients, split, n=33, min_leaf=5))
    played += 1
for n in (1, 2, 3, 7, 8, 9, 15, 16, 17, 64, 65):  # around the widths of the kernel's panels
    for settings in ({"leaf": "gp"}, {"leaf": "gp", "kernel": "matern52", "isotropic": True}, {"leaf": "linear"}):
        play(settings, CoefficientPrior(), (0, 1, 2), n, min_leaf=1, rounds=max(20, ROUNDS // 20))
        played += 1
samplers = [ClassSpec(sharing, sampler, 4) for sharing, sampler in product(TREE_SHARINGS, LATENT_SAMPLERS)]
for classes, split, n_classes in product(samplers, (None, (0, 1, 2)), (2, 3)):
    play_classes(classes, "gp", split, 33, n_classes)
    played += 1
for n in (8, 9, 17, 65):
    for classes in samplers:
        play_classes(classes, "gp", (0, 1, 2), n, 3, rounds=max(20, ROUNDS // 20))
        played += 1
play_classes(ClassSpec(), "constant", (0, 1, 2), 33, 3)
played += 1
print(_core.isa(), played)
