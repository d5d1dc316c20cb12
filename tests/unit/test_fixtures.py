"""Known numbers through the compiled core: fixtures of section 15 of the model, closed forms, quadrature, a grid."""

from dataclasses import replace
from math import exp, lgamma, log, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import invgamma, kstest, multivariate_t, t

from oracle.bridge import core_problem, core_state, oracle_state
from oracle.leaf import Hyper, LeafModel, LeafParams, correlation, design, log_L
from oracle.priors import LeafPrior, log_p_b, log_p_d, log_p_g
from oracle.rules import SplitData, dense_ranks, leaf_rows
from oracle.target import Model, State
from treedgp import _core, _testing
from treedgp.posterior.diagnostics import mcse_mean

X = np.array([[0.0], [1 / 3], [2 / 3], [1.0]])
Z = np.array([0.1, -0.2, 0.4, 0.3])
GP = LeafParams((0.5,), (1,), 0.1)
LINEAR = LeafParams((0.5,), (0,), 0.1)
IID = LeafParams((), (), 0.0)
MIXTURE = (("gamma", 0.5, 1.0, 20.0), ("gamma", 0.5, 10.0, 10.0))
LIMITING = (10.0, 0.2, 0.7)
TEN_DIGITS = 1e-10


def close(actual, expected, rtol=TEN_DIGITS):
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol / 100)


def split_of(x, **options):
    codes = np.stack([dense_ranks(column) for column in x.T], axis=1)
    return SplitData(codes, ("numeric",) * x.shape[1], tuple(codes.max(axis=0) + 1), **options)


def model_of(x=X, z=Z, mean="linear", coef="flat", kernel="gaussian", **split):
    leaf = LeafModel(kernel, mean, coef)
    prior = LeafPrior(1, MIXTURE, (("gamma", 1.0, 1.0, 1.0),), LIMITING)
    return Model(x, z, split_of(x, F=design(leaf, x) if coef == "flat" else None, **split), leaf, prior)


def unit_hyper(m, **changes):
    return replace(Hyper(np.zeros(m), np.eye(m)), **changes)


def hyper_of(model):
    return unit_hyper(design(model.leaf, model.x).shape[1])


class Leaf:
    """The root alone: terms and predictions of the core."""

    def __init__(self, model, p, hyper=None, sigma2=1.0):
        model = replace(model, prior=replace(model.prior, n_range=len(p.d)))
        hyper = hyper or hyper_of(model)
        self.problem = core_problem(model, hyper, p.tau2)
        self.arrays = core_state(State(None, (p,), hyper), sigma2=[sigma2])

    def terms(self):
        return {name: np.squeeze(value) for name, value in _testing.leaf_terms(self.problem, self.arrays).items()}

    def predict(self, x):
        """Mean, variance of f, variance of y."""
        x = np.asarray(x, dtype=float).reshape(-1, 1)
        return _core.moments(self.problem, self.arrays[0], 0, 1, x, np.zeros(x.shape, dtype=np.int32))[:, 0]

    def joint(self, x):
        """Mean, noise variance, covariance of f."""
        return _core.joint(self.problem, self.arrays[0], 0, x, np.zeros(x.shape, dtype=np.int32))


# ---- 15.1


@pytest.mark.parametrize(
    ("mean", "coef", "p", "btilde", "lam", "M"),
    [
        ("linear", "flat", GP, [0.220441197780, -0.047476014337], 0.997568385357, -3.572445207933),
        ("linear", "fixed", GP, [0.115156710124, 0.020924976836], 1.021960233969, -4.848987433468),
        ("constant", "flat", GP, 0.196703190612, 0.998776199521, -4.146302983119),
        ("constant", "fixed", GP, 0.121625896138, 1.022700401352, -4.586794948270),
        ("constant", "flat", IID, 0.15, 0.21, -5.359111740005),
    ],
)
def test_leaf_fixtures(mean, coef, p, btilde, lam, M):
    terms = Leaf(model_of(mean=mean, coef=coef), p).terms()
    close(terms["mean"], btilde)
    close(terms["lambda"], lam)
    close(terms["marginal"], M)
    close(terms["log_det"], -2.117085924094 if p is GP else 0.0)


@pytest.mark.parametrize(("coef", "V"), [("flat", 0.617280504053), ("fixed", 0.381678071619)])
def test_variance_of_the_constant_mean(coef, V):
    """So far away that nothing correlates, f has the variance 1 + V."""
    _, var_f, _ = Leaf(model_of(mean="constant", coef=coef), GP).predict(1e3)
    close(var_f - 1, V)


@pytest.mark.parametrize(
    ("coef", "p", "at", "mean", "variance"),
    [
        ("flat", GP, 0.5, 0.101407982460, 0.158379152683),
        ("fixed", GP, 0.5, 0.101458706286, 0.158379043687),
        ("flat", GP, 1.5, 0.164704434455, 1.706145695382),
        ("flat", LINEAR, 0.5, 0.15, 1.375),
        ("fixed", LINEAR, 0.5, 0.132902549773, 1.322522994528),
    ],
)
def test_prediction_fixtures(coef, p, at, mean, variance):
    """The variance is that of y; f has sigma2 g less, and sigma2 (1 + g) less in a limiting linear leaf."""
    got_mean, var_f, var_y = Leaf(model_of(coef=coef), p).predict(at)
    close(got_mean, mean)
    close(var_y, variance)
    close(var_f, variance - (0.1 if p is GP else 1.1))


def test_sigma2_scales_the_predictive_variance():
    mean, var_f, var_y = Leaf(model_of(), GP).predict([0.5, 1.5])
    scaled = Leaf(model_of(), GP, sigma2=2.5).predict([0.5, 1.5])
    close(scaled, [mean, 2.5 * var_f, 2.5 * var_y])


def test_latent_conditional_fixture():
    """Constant mean, tau2 0.7, W 1.3, beta0 0.2: y at points 2, 3 given y at 1, 4, nugget on the diagonal."""
    p = replace(GP, tau2=0.7)
    hyper = unit_hyper(1, beta0=np.array([0.2]), W_inv=np.array([[1 / 1.3]]))
    known = Leaf(model_of(X[[0, 3]], Z[[0, 3]], mean="constant", coef="fixed"), p, hyper)
    mean, noise, cov = known.joint(X[[1, 2]])
    close(mean, [0.159610307536, 0.240389692464])
    close(cov + np.diag(noise), [[0.427043491966, 0.285149279548], [0.285149279548, 0.427043491966]])


@pytest.mark.parametrize(
    ("kernel", "value"),
    [
        ("matern12", exp(-0.75)),
        ("matern32", 0.826641467297),
        ("matern52", (1 + 0.75 + 0.75**2 / 3) * exp(-0.75)),
        ("gaussian", exp(-(0.3**2) / 0.4)),
    ],
)
def test_correlation_of_two_points(kernel, value):
    """h = 0.3, d = 0.4, from |K| = (1 + g)^2 - K*^2."""
    model = model_of(np.array([[0.2], [0.5]]), Z[:2], mean="constant", kernel=kernel)
    log_det = Leaf(model, LeafParams((0.4,), (1,), 0.1)).terms()["log_det"]
    close(sqrt(1.1**2 - exp(log_det)), value)


def test_prior_of_the_booleans():
    limiting = _core.Spec().leaf.limiting
    limiting.gamma, limiting.theta1, limiting.theta2 = LIMITING
    expected = [0.204684995647, 0.212590346973, 0.55, 0.895315004353, 0.899999785868]
    close([limiting.p_linear(d) for d in (0, 0.1, 0.5, 1, 2)], expected)


def test_structure_ratio_of_grow():
    """alpha 0.5, beta 2; all nodes concerned can split. At depths 0 and 1."""
    x = np.arange(8.0)[:, None] / 7
    prior = LeafPrior(0, (), (("atom", 1.0, 0.0),))
    model = replace(model_of(x, x[:, 0], mean="constant", coef="fixed"), prior=prior)
    problem = core_problem(model, hyper_of(model))

    def structure_ratio(tree, grown):
        state = State(tree, (IID,) * len(leaf_rows(model.split, tree)), hyper_of(model))
        branches = _testing.enumerate(problem, core_state(state), "grow")
        return next(exp(r["tree_prior"]) for _, (r, arrays) in branches if oracle_state(arrays).tree == grown)

    split = (0, 3, None, None)
    close(structure_ratio(None, split), 0.765625)
    close(structure_ratio(split, (0, 3, (0, 1, None, None), None)), 0.127425044092)


# ---- 15.2


@pytest.mark.parametrize("coef", ["flat", "fixed"])
@pytest.mark.parametrize("p", [replace(GP, tau2=0.7), replace(LINEAR, tau2=0.7)], ids=["gp", "linear"])
def test_marginal_likelihood_is_the_integral_over_beta_and_sigma2(coef, p):
    """15.2.1: over sigma2 in closed form, over beta by quadrature."""
    hyper = unit_hyper(1, beta0=np.array([0.2]), W_inv=np.array([[1 / 1.3]]), a_s=4.0, g_s=3.0)
    K = correlation(LeafModel(), X, p)
    n, a, g = len(Z), hyper.a_s, hyper.g_s

    def density(beta):
        """p(Z, beta): normals given sigma2, which is inverse gamma and integrated out."""
        e = Z - beta
        prior = (beta - 0.2) ** 2 / (0.7 * 1.3) if coef == "fixed" else 0.0
        shape = (a + n + (coef == "fixed")) / 2
        rate = (g + e @ np.linalg.solve(K, e) + prior) / 2
        log_prior = -0.5 * log(2 * pi) - (0.5 * log(0.7 * 1.3) if coef == "fixed" else 0.0)
        log_normal = -0.5 * (n * log(2 * pi) + np.linalg.slogdet(K)[1])
        log_sigma2 = a / 2 * log(g / 2) - lgamma(a / 2) + lgamma(shape) - shape * log(rate)
        return exp(log_prior + log_normal + log_sigma2)

    integral = sum(quad(density, *ends, epsabs=0, epsrel=1e-12)[0] for ends in [(-np.inf, 0.1), (0.1, np.inf)])
    M = Leaf(model_of(mean="constant", coef=coef), p, hyper).terms()["marginal"]
    close(M, log(integral))


@pytest.mark.parametrize("p", [replace(GP, tau2=0.7), replace(LINEAR, tau2=0.7)], ids=["gp", "linear"])
@pytest.mark.parametrize("mean", ["constant", "linear"])
def test_marginal_likelihood_is_a_multivariate_t(mean, p):
    """15.2.1: Z ~ t_{a_s}(F beta0, (g_s/a_s)(K + tau2 F W F'))."""
    model = model_of(mean=mean, coef="fixed")
    F = design(model.leaf, X)
    m = F.shape[1]
    W_inv = np.array([[1.5, 0.4], [0.4, 0.8]])[:m, :m]
    hyper = Hyper(np.array([0.2, -0.3])[:m], W_inv, a_s=4.0, g_s=3.0)
    scale = correlation(model.leaf, X, p) + 0.7 * F @ np.linalg.inv(W_inv) @ F.T
    expected = multivariate_t.logpdf(Z, F @ hyper.beta0, 3 / 4 * scale, df=4)
    close(Leaf(model, p, hyper).terms()["marginal"], expected)


def run_chains(model, hyper, p, rounds, chains=1, tune=0, seed=1):
    """Draws of treeless chains (alpha = 0), hyperparameters fixed."""
    problem = core_problem(model, hyper, p.tau2, tune=tune)
    state = core_state(State(None, (p,), hyper))
    runs = [_core.run(problem, state, seed, chain, 0, tune + rounds) for chain in range(chains)]
    return [run["draws"][0] for run in runs]


def test_treeless_linear_model():
    """15.2.2, flat prior: OLS (-0.03, 0.36), RSS 0.138, E sigma2 = 2.0276; draws are independent."""
    fixed_at_zero = LeafPrior(0, (), (("atom", 1.0, 0.0),))
    model = replace(model_of(alpha=0.0), prior=fixed_at_zero)
    hyper = hyper_of(model)
    terms = Leaf(model, IID).terms()
    close(terms["mean"], [-0.03, 0.36])
    close(terms["lambda"], 0.138)

    (draws,) = run_chains(model, hyper, IID, rounds=20_000)
    dof, rate = 5 + 4 - 2, (10 + 0.138) / 2
    sigma2 = invgamma(dof / 2, scale=rate)
    close(sigma2.mean(), 2.0276)
    F = design(model.leaf, X)
    spread = np.sqrt(np.diag(np.linalg.inv(F.T @ F)) * (10 + 0.138) / dof)
    assert kstest(draws["sigma2"], sigma2.cdf).pvalue > 1e-4
    for j, centre in enumerate([-0.03, 0.36]):
        assert kstest(draws["beta"][:, j], t(dof, centre, spread[j]).cdf).pvalue > 1e-4

    at = np.array([[0.2], [0.9], [2.0]])
    mean = _core.moments(core_problem(model, hyper), draws, 0, 100, at, np.zeros(at.shape, np.int32))[0]
    close(mean, np.broadcast_to(-0.03 + 0.36 * at[:, 0], mean.shape))


def test_limits():
    """15.2.4."""
    at = [0.1, 0.5, 1.4]
    flat, fixed = model_of(coef="flat"), model_of(coef="fixed")
    for model in (flat, fixed):  # no two points correlate: the limiting linear model, noise apart
        mean, _, var_y = Leaf(model, replace(GP, d=(1e-7,))).predict(at)
        linear_mean, _, linear_var_y = Leaf(model, LINEAR).predict(at)
        close(mean, linear_mean)
        close(var_y, linear_var_y)
    for p in (GP, LINEAR):  # a vague coefficient prior: error O(1 / variance)
        vague = Leaf(fixed, p, unit_hyper(2, W_inv=1e-9 * np.eye(2))).predict(at)
        np.testing.assert_allclose(vague, Leaf(flat, p).predict(at), rtol=1e-7)
    for model in (flat, fixed):  # without a nugget: interpolation, error O(g)
        mean, var_f, var_y = Leaf(model, replace(GP, g=1e-9)).predict(X)
        np.testing.assert_allclose(mean, Z, atol=1e-7)
        np.testing.assert_allclose([var_f, var_y], 0, atol=1e-7)


@pytest.mark.parametrize("p", [replace(GP, tau2=0.7), replace(LINEAR, tau2=0.7)], ids=["gp", "linear"])
@pytest.mark.parametrize("mean", ["constant", "linear"])
def test_prediction_is_the_schur_complement_of_the_joint_covariance(mean, p):
    """15.2.5: of sigma2 (K + tau2 F W F') over data and new points; a new y has 1 + g on the diagonal."""
    model = model_of(mean=mean, coef="fixed")
    new = np.array([[0.1], [0.45], [1.3]])
    both = np.vstack([X, new])
    F = design(model.leaf, both)
    m = F.shape[1]
    W_inv = np.array([[1.5, 0.4], [0.4, 0.8]])[:m, :m]
    hyper = unit_hyper(m, beta0=np.array([0.2, -0.3])[:m], W_inv=W_inv)
    cov = 1.7 * (correlation(model.leaf, both, p) + 0.7 * F @ np.linalg.inv(W_inv) @ F.T)
    prior_mean, old = F @ hyper.beta0, np.s_[:4]
    weights = np.linalg.solve(cov[old, old], cov[old, 4:]).T
    expected_mean = prior_mean[4:] + weights @ (Z - prior_mean[old])
    expected_cov = cov[4:, 4:] - weights @ cov[old, 4:]

    leaf = Leaf(model, p, hyper, sigma2=1.7)
    got_mean, noise, cov_f = leaf.joint(new)
    close(got_mean, expected_mean)
    close(cov_f + np.diag(noise), expected_cov)
    moments = leaf.predict(new)
    close(moments, [expected_mean, np.diag(cov_f), np.diag(expected_cov)])


SCATTERED = np.array([[0.1, 0.5], [0.25, 0.9], [0.4, 0.05], [0.6, 0.7], [0.8, 0.3], [0.95, 0.6]])
TREES = {
    "rotate": (0, 3, (0, 1, None, None), None),
    "swap": (0, 2, (1, 1, None, None), None),
    "change": (0, 2, (1, 1, None, None), None),
    "shift": (0, 2, (1, 1, None, None), None),
    "grow": (0, 2, None, None),
}


@pytest.mark.parametrize("move", TREES)
def test_a_move_and_its_reverse_are_the_identity(move):
    """15.2.6: A(forward) A(backward) = 1 before the minimum; rotate keeps the leaves' rows."""
    z = np.array([0.3, -0.6, 1.1, 0.9, -1.4, 0.2])
    prior = LeafPrior(1, (("atom", 0.4, 0.1), ("atom", 0.6, 0.8)), (("atom", 1.0, 0.1),), LIMITING)
    model = replace(model_of(SCATTERED, z, mean="constant", coef="fixed"), prior=prior)
    hyper = hyper_of(model)
    problem = core_problem(model, hyper)
    vectors = [LeafParams((d,), (1,), 0.1) for d in (0.1, 0.8)]
    now = State(TREES[move], tuple(vectors[i % 2] for i in range(len(leaf_rows(model.split, TREES[move])))), hyper)

    def steps(state, name):
        branches = _testing.enumerate(problem, core_state(state), name)
        return [(terms["total"], oracle_state(arrays)) for _, (terms, arrays) in filter(lambda b: b[1], branches)]

    forward = steps(now, move)
    assert forward
    for total, after in forward:
        undo = steps(after, "prune" if move == "grow" else move)
        back = [t for t, s in undo if (s.tree, s.params) == (now.tree, now.params)]
        assert back
        np.testing.assert_allclose(back, -total, atol=1e-12)
        if move == "rotate":
            assert leaf_rows(model.split, after.tree) == leaf_rows(model.split, now.tree)
            assert after.params == now.params


# ---- (d, b, g) of one leaf against a grid


def grid_expectations(model, hyper, statistics):
    """E of each statistic(d, b, g) by the trapezoidal rule on a grid of (log d, log g), both values of b."""
    log_d, log_g = np.linspace(-10, 2.5, 90), np.linspace(-9, 3, 80)
    values, weights = [], []
    for ld in log_d:
        for lg in log_g:
            for b in (0, 1):
                p = LeafParams((exp(ld),), (b,), exp(lg))
                log_prior = log_p_d(model.prior, p) + log_p_b(model.prior, p) + log_p_g(model.prior, p)
                weights.append(log_L(model.leaf, hyper, model.x, model.y, p) + log_prior + ld + lg)
                values.append([f(p.d[0], b, p.g) for f in statistics.values()])
    weights = np.exp(np.array(weights) - max(weights))
    return weights @ np.array(values) / weights.sum()


STATISTICS = {
    "log d": lambda d, b, g: log(d),
    "b": lambda d, b, g: b,
    "log g": lambda d, b, g: log(g),
    "g": lambda d, b, g: g,
    "b log d": lambda d, b, g: b * log(d),
}


def test_posterior_of_range_boolean_and_nugget_is_that_of_a_grid():
    """Within 4 standard errors: five statistics, so a right sampler fails at one seed in 3000."""
    x = np.linspace(0, 1, 9)[:, None]
    z = np.sin(6 * x[:, 0]) + np.array([0.1, -0.05, 0.12, -0.1, 0.0, 0.07, -0.12, 0.04, 0.02])
    model = model_of(x, z, mean="constant", coef="fixed", alpha=0.0)
    hyper = unit_hyper(1, a_s=4.0, g_s=1.0)
    expected = grid_expectations(model, hyper, STATISTICS)
    chains = run_chains(model, hyper, GP, rounds=20_000, chains=4, tune=1000)
    for (name, f), value in zip(STATISTICS.items(), expected, strict=True):
        trace = np.array(
            [[f(*row) for row in zip(c["range"][:, 0], c["gp"][:, 0], c["nugget"], strict=True)] for c in chains]
        )
        error = mcse_mean(trace)
        assert error < 0.03, name
        assert abs(trace.mean() - value) < 4 * error, name
