"""Known numbers of classification (model, 15.1 and 15.3.4-5), from runs of the shipped rounds with every parameter held
fixed, and from the pieces of the latent update.

The model's latents are Z = -f. Held fixed: ranges and nugget by priors of one atom, tau2, beta0 and W as such, sigma2
by IG(a/2, a/2) with a = 1e8, which has mean 1 and standard deviation 1.4e-4. Whatever moves a round makes, its latents
then have the posterior that quadrature gives. Gates: see statistical/gates.py.
"""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from oracle.class_model import ClassDraw, ClassModel, core_problem, core_state, latent_law, log_softmax
from oracle.leaf import Hyper, LeafModel, LeafParams
from oracle.priors import LeafPrior
from oracle.rules import SplitData, dense_ranks
from oracle.simulate import Draw
from oracle.target import Model, State
from statistical.gates import assert_gate, seed_of
from statistical.pairs import compare_chains, compare_with_value
from treedgp import _core, _testing

SAMPLERS = ("polya_gamma", "metropolis")
LARGE = 1e8


def fixed_case(x, n_classes=2, d=0.5, g=0.1, tau2=0.7, w=1.3, beta0=0.2, b=1, kernel="gaussian", mean="constant"):
    """No tree, every parameter fixed. b = 1: one range for all inputs; b = 0: the limiting model."""
    x = np.asarray(x, dtype=float).reshape(len(x), -1)
    codes = np.column_stack([dense_ranks(column) for column in x.T])
    split = SplitData(codes, ("numeric",) * x.shape[1], tuple(codes.max(axis=0) + 1), min_leaf=1, alpha=0.0)
    prior = LeafPrior(b, (("atom", 1.0, d),), (("atom", 1.0, g),))
    model = Model(x, np.zeros(len(x)), split, LeafModel(kernel, mean, "fixed"), prior)
    m = x.shape[1] + 1 if mean == "linear" else 1
    hyper = Hyper(np.full(m, beta0), np.eye(m) / w, LARGE, LARGE)
    return ClassModel(model, hyper, n_classes, tau2=tau2)


def fixed_draw(case, labels, latents=None, sigma2=1.0):
    prior = case.model.prior
    d, g = prior.d[0][2], prior.g[0][2]
    state = State(None, (LeafParams((d,) * prior.n_range, (1,) * prior.n_range, g, case.tau2),), case.fixed)
    latents = np.zeros((case.n_latents, len(case.model.x))) if latents is None else np.atleast_2d(latents)
    beta = np.zeros((1, len(case.fixed.beta0)))
    return ClassDraw(tuple(Draw(state, np.array([sigma2]), beta, f) for f in latents), np.asarray(labels))


def latent_chains(case, labels, sampler, block_size, seed, rounds, chains=2):
    """(class but the base, chain, draw, n)."""
    problem = core_problem(case, labels, sampler, block_size, tune=100, annealed=0.0)
    state = core_state(problem, fixed_draw(case, labels))
    runs = [_core.run(problem, state, seed, chain, 0, 100 + rounds)["draws"] for chain in range(chains)]
    return np.array([[run[m]["latent"] for run in runs] for m in range(case.n_latents)])


# ---- the law of a block given the rest


def test_latent_conditional_fixture():
    """I = points 2, 3 given 1, 4, from Q of the whole leaf."""
    case = fixed_case([0, 1 / 3, 2 / 3, 1])
    z = np.array([0.1, -0.2, 0.4, 0.3])
    problem = core_problem(case, [0, 1, 0, 1], "metropolis")
    Q, r, _ = _testing.latent_precision(problem, core_state(problem, fixed_draw(case, [0, 1, 0, 1], z)), 0)
    block = np.ix_([1, 2], [1, 2])
    mean, cov = z[[1, 2]] - np.linalg.solve(Q[block], r[[1, 2]]), np.linalg.inv(Q[block])
    np.testing.assert_allclose(mean, [0.159610307536, 0.240389692464], rtol=1e-10)
    np.testing.assert_allclose(cov, [[0.427043491966, 0.285149279548], [0.285149279548, 0.427043491966]], rtol=1e-10)


@pytest.mark.parametrize("mean", ["constant", "linear"])
@pytest.mark.parametrize("b", [0, 1])
@pytest.mark.parametrize("kernel", ["gaussian", "matern12", "matern32", "matern52"])
def test_the_precision_of_a_leaf_is_the_inverse_of_its_covariance(kernel, b, mean):
    rng = np.random.default_rng(seed_of(f"precision {kernel} {b} {mean}"))
    for n in (1, 2, 7, 40):
        case = fixed_case(rng.random((n, 2)), d=0.3, g=0.05, b=b, kernel=kernel, mean=mean)
        labels, f = rng.integers(2, size=n), rng.normal(size=n)
        problem = core_problem(case, labels, "metropolis")
        draw = fixed_draw(case, labels, f, sigma2=2.5)
        Q, r, by_changes = _testing.latent_precision(problem, core_state(problem, draw), 0)
        prior_mean, cov = latent_law(case.model, draw.layers[0], 0, tuple(range(n)))
        np.testing.assert_allclose(Q @ cov, np.eye(n), atol=1e-8)
        np.testing.assert_allclose(r, np.linalg.solve(cov, f - prior_mean), atol=1e-7)
        np.testing.assert_allclose(by_changes, r, atol=1e-7)


# ---- the ratio of labels


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_ratio_of_labels(n_classes):
    """log A is 0 for an unchanged latent, and raising the latent of a class lowers every other label's probability."""
    rng = np.random.default_rng(seed_of(f"ratio {n_classes}"))
    n = 60
    case = fixed_case(rng.random(n), n_classes)
    labels, latents = rng.integers(n_classes, size=n), 3 * rng.normal(size=(n_classes - 1, n))
    latents[:, 0], latents[:, 1] = 800.0, -800.0  # no overflow
    problem = core_problem(case, labels, "metropolis")
    state = core_state(problem, fixed_draw(case, labels, latents))
    rows = np.arange(n)
    for m in range(n_classes - 1):
        now = _testing.log_label(problem, state, m, latents[m])
        np.testing.assert_allclose(now, log_softmax(latents)[labels, rows], rtol=1e-12, atol=1e-12)
        moved = latents.copy()
        moved[m] += 0.7
        then = _testing.log_label(problem, state, m, moved[m])
        np.testing.assert_allclose(then, log_softmax(moved)[labels, rows], rtol=1e-12, atol=1e-12)
        tame = slice(2, None)
        np.testing.assert_array_equal((then > now)[tame], (labels == m)[tame])


# ---- one observation


def one_observation_moments(beta0):
    """p(c = 1), E[z | c], E[z^2 | c] for z ~ N(beta0, 2.01), p(c = 1 | z) = 1 / (1 + exp z)."""
    with mpmath.workdps(30):
        variance = mpmath.mpf("2.01")
        sd = mpmath.sqrt(variance)

        def integral(power):
            return mpmath.quad(
                lambda z: z**power * mpmath.npdf(z, beta0, sd) / (1 + mpmath.exp(z)), [-30, -5, 0, 5, 30]
            )

        p = integral(0)
        return float(p), float(integral(1) / p), float(integral(2) / p)


def test_one_observation_numbers_are_right():
    expected = (0.463778150790, -0.582592201785, 1.807064809029)
    np.testing.assert_allclose(one_observation_moments(mpmath.mpf("0.2")), expected, rtol=1e-11)


def test_probability_of_one_observation():
    """The class of the latent f = -z, at the prior's moments."""
    shares = _testing.class_shares(np.array([-0.2]), np.array([2.01]), np.zeros((1, 1)))
    np.testing.assert_allclose(shares[0, 0], 0.463778150790, atol=2e-7)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_one_observation(sampler, request):
    case = fixed_case([0.5], tau2=0.7, w=1.3, beta0=-0.2)  # tau2 W = 0.91; f = -z

    def attempt(seed, scale):
        f = latent_chains(case, [0], sampler, 1, seed, 20_000 * scale)[0, ..., 0]
        return [compare_with_value("E z", -f, -0.582592201785), compare_with_value("E z^2", f**2, 1.807064809029)]

    assert_gate(attempt, request.node.name)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_label_flip_changes_the_sign_of_the_latent(sampler, request):
    case = fixed_case([0.5], beta0=0.0)
    _, mean, second = one_observation_moments(0)

    def attempt(seed, scale):
        one, other = (
            latent_chains(case, [label], sampler, 1, seed + label, 20_000 * scale)[0, ..., 0] for label in (0, 1)
        )
        return [
            compare_chains("mean", one, -other),
            compare_chains("square", one**2, other**2),
            compare_chains("cube", one**3, -(other**3)),
            compare_with_value("E f given class 0", one, -mean),
            compare_with_value("E f given the base class", other, mean),
            compare_with_value("E f^2", one**2, second),
        ]

    assert_gate(attempt, request.node.name)


def unknown_amplitude_moments(beta0, spread, a, g):
    """E of f, f^2 and log sigma2 given label 0, where f ~ N(beta0, sigma2 spread), sigma2 ~ IG(a/2, g/2)."""
    log_s2 = np.linspace(-6, 8, 1401)[:, None]
    z = np.linspace(-9, 9, 1801)
    f = beta0 + np.sqrt(np.exp(log_s2) * spread) * z
    log_prior = -a / 2 * log_s2 - g / 2 * np.exp(-log_s2)  # of log sigma2
    weight = np.exp(log_prior - log_prior.max() - z**2 / 2) * expit(f)
    return [np.sum(weight * value) / weight.sum() for value in (f, f**2, log_s2)]


@pytest.mark.parametrize("beta0", [-2.5, 1.0])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_one_observation_of_unknown_amplitude(sampler, beta0, request):
    """sigma2 and the latent together, far from a mean of 0: what moves of both must get right."""
    case = fixed_case([0.5], beta0=beta0)
    case = replace(case, fixed=replace(case.fixed, a_s=8.0, g_s=12.0))
    expected = unknown_amplitude_moments(beta0, 1.1 + 0.91, 8.0, 12.0)

    def attempt(seed, scale):
        problem = core_problem(case, [0], sampler, 1, tune=100, annealed=0.0)
        state = core_state(problem, fixed_draw(case, [0]))
        runs = [_core.run(problem, state, seed, chain, 0, 100 + 40_000 * scale)["draws"][0] for chain in range(2)]
        f, s2 = (np.array([run[name].reshape(-1) for run in runs]) for name in ("latent", "sigma2"))
        values = {"E f": f, "E f^2": f**2, "E log sigma2": np.log(s2)}
        return [compare_with_value(name, v, e) for (name, v), e in zip(values.items(), expected, strict=True)]

    assert_gate(attempt, request.node.name)


# ---- two observations, every block size


def two_point_moments(case, labels, nodes):
    """{name: E of the latents' function given labels}, by Gauss-Hermite quadrature over the prior."""
    mean, cov = latent_law(case.model, fixed_draw(case, labels).layers[0], 0, (0, 1))
    x, w = hermegauss(nodes)
    k = 2 * case.n_latents
    grid = np.stack(np.meshgrid(*[x] * k, indexing="ij")).reshape(case.n_latents, 2, -1)
    weight = np.prod(np.stack(np.meshgrid(*[w] * k, indexing="ij")).reshape(k, -1), axis=0)
    f = mean[None, :, None] + np.einsum("ij,mjs->mis", np.linalg.cholesky(cov), grid)
    log_p = log_softmax(f)  # (class, point, node)
    weight = weight * np.exp(log_p[labels[0], 0] + log_p[labels[1], 1])
    return {name: np.sum(weight * values) / weight.sum() for name, values in functions_of(f).items()}


def functions_of(f):
    """Smooth functions of latents (class but the base, point, ...)."""
    out = {}
    for m, (one, other) in enumerate(f):
        out |= {f"f{m}[0]": one, f"f{m}[1]": other, f"f{m}[0]^2": one**2, f"f{m}[0] f{m}[1]": one * other}
        out[f"expit f{m}[1]"] = expit(other)
    if len(f) > 1:
        out["f0[0] f1[0]"] = f[0, 0] * f[1, 0]
    return out


def two_points(case, labels, sampler, block_size, seed, rounds, nodes=40):
    expected = two_point_moments(case, labels, nodes)
    f = latent_chains(case, labels, sampler, block_size, seed, rounds)
    values = functions_of(np.moveaxis(f, 3, 1))
    return [compare_with_value(name, values[name], expected[name]) for name in expected]


@pytest.mark.parametrize("b", [1, 0])
@pytest.mark.parametrize(
    ("sampler", "block_size"), [("polya_gamma", 1), ("metropolis", 1), ("metropolis", 2), ("metropolis", 10)]
)
def test_two_observations_against_quadrature(sampler, block_size, b, request):
    case = fixed_case([0.1, 0.5], beta0=0.4, b=b)
    name = request.node.name
    assert_gate(lambda seed, scale: two_points(case, (0, 1), sampler, block_size, seed, 10_000 * scale), name)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("labels", [(0, 1), (2, 1), (0, 2)])
def test_two_observations_of_three_classes(sampler, labels, request):
    case = fixed_case([0.1, 0.5], 3, beta0=0.4)
    name = request.node.name
    assert_gate(lambda seed, scale: two_points(case, labels, sampler, 1, seed, 10_000 * scale, nodes=16), name)
