"""The oracle against known numbers, quadrature, enumeration and simulation."""

from collections import Counter, defaultdict
from dataclasses import replace
from math import exp, inf, lgamma, log, pi

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import kv
from scipy.stats import chi2, chisquare, f, gamma, kstest, multivariate_normal

from oracle import leaf, moves, priors, rules, simulate, target
from oracle.leaf import Hyper, LeafModel, LeafParams
from oracle.priors import LeafPrior
from oracle.rules import SplitData

X = np.array([[0.0], [1 / 3], [2 / 3], [1.0]])
Z = np.array([0.1, -0.2, 0.4, 0.3])
GP = LeafParams((0.5,), (1,), 0.1)
LINEAR = LeafParams((0.5,), (0,), 0.1)
IID = LeafParams((), (), 0.0)
UNIT_1, UNIT_2 = (Hyper(np.zeros(m), np.eye(m)) for m in (1, 2))


def close(actual, expected, digits=10):
    np.testing.assert_allclose(actual, expected, rtol=10.0**-digits, atol=10.0 ** -(digits + 2))


# ---- leaves


def fixture(mean, coef, p, V, btilde, lam, M):
    return pytest.param(mean, coef, p, V, btilde, lam, M, id=f"{mean}-{coef}-{'gp' if p is GP else 'iid'}")


@pytest.mark.parametrize(
    ("mean", "coef", "p", "V", "btilde", "lam", "M"),
    [
        fixture(
            "linear",
            "flat",
            GP,
            [[1.083819977923, -0.933078947740], [-0.933078947740, 1.866157895479]],
            [0.220441197780, -0.047476014337],
            0.997568385357,
            -3.572445207933,
        ),
        fixture(
            "linear",
            "fixed",
            GP,
            [[0.438219833189, -0.182887777305], [-0.182887777305, 0.591561673330]],
            [0.115156710124, 0.020924976836],
            1.021960233969,
            -4.848987433468,
        ),
        fixture("constant", "flat", GP, 0.617280504053, 0.196703190612, 0.998776199521, -4.146302983119),
        fixture("constant", "fixed", GP, 0.381678071619, 0.121625896138, 1.022700401352, -4.586794948270),
        fixture("constant", "flat", IID, 0.25, 0.15, 0.21, -5.359111740005),
    ],
)
def test_leaf_fixtures(mean, coef, p, V, btilde, lam, M):
    model, hyper = LeafModel(mean=mean, coef=coef), UNIT_2 if mean == "linear" else UNIT_1
    c = leaf.conditional(model, hyper, X, Z, p)
    close(c.log_det_K, -2.117085924094 if p is GP else 0)
    close(c.V.squeeze(), V)
    close(c.btilde.squeeze(), btilde)
    close(leaf.lambda_residual(c, hyper, Z), lam)
    close(leaf.lambda_subtraction(c, hyper, Z), lam)
    close(leaf.log_M(model, hyper, X, Z, p), M)


SHIFTED_1 = Hyper(np.array([0.2]), np.array([[1 / 1.3]]), a_s=4.0, g_s=3.0)
SHIFTED_2 = Hyper(np.array([0.2, -0.3]), np.array([[1.5, 0.4], [0.4, 0.8]]), a_s=4.0, g_s=3.0)


@pytest.mark.parametrize("coef", ["flat", "fixed"])
@pytest.mark.parametrize("p", [replace(GP, tau2=0.7), replace(LINEAR, tau2=0.7)], ids=["gp", "linear"])
def test_marginal_likelihood_is_the_integral_over_beta_and_sigma2(coef, p):
    """beta = sigma t, sigma2 = e^s: the trapezoid rule on a wide grid of (t, s)."""
    model, hyper = LeafModel(mean="constant", coef=coef), SHIFTED_1
    K = leaf.correlation(model, X, p)
    t, s = np.meshgrid(np.linspace(-14, 14, 1401), np.linspace(-5, 14, 1901), indexing="ij")
    sigma2, beta = np.exp(s), np.exp(s / 2) * t
    e = Z - beta[..., None]
    quadratic = np.einsum("tsi,ij,tsj->ts", e, np.linalg.inv(K), e)
    log_density = -2 * np.log(2 * pi * sigma2) - 0.5 * np.linalg.slogdet(K)[1] - quadratic / sigma2 / 2
    if coef == "flat":
        log_density += -0.5 * log(2 * pi)
    else:
        variance = sigma2 * p.tau2 * 1.3
        log_density += -0.5 * np.log(2 * pi * variance) - (beta - 0.2) ** 2 / variance / 2
    a, b = hyper.a_s / 2, hyper.g_s / 2
    log_density += a * log(b) - lgamma(a) - (a + 1) * s - b / sigma2
    log_density += 1.5 * s  # d beta d sigma2 = sigma sigma2 dt ds
    integral = np.exp(log_density).sum() * (t[1, 0] - t[0, 0]) * (s[0, 1] - s[0, 0])
    close(leaf.log_M(model, hyper, X, Z, p), log(integral))


@pytest.mark.parametrize("mean", ["constant", "linear"])
@pytest.mark.parametrize("p", [replace(GP, tau2=0.7), replace(LINEAR, tau2=0.7)], ids=["gp", "linear"])
def test_marginal_likelihood_is_a_multivariate_t(mean, p):
    model, hyper = LeafModel(mean=mean, coef="fixed"), SHIFTED_2 if mean == "linear" else SHIFTED_1
    close(leaf.log_M(model, hyper, X, Z, p), leaf.log_M_t(model, hyper, X, Z, p))


@pytest.mark.parametrize("coef", ["flat", "fixed"])
def test_L_and_M_differ_by_a_constant_in_d_b_g(coef):
    model = LeafModel(coef=coef)
    others = [LINEAR, LeafParams((0.1,), (1,), 0.5), LeafParams((3.0,), (1,), 0.01)]
    gaps = [leaf.log_M(model, SHIFTED_2, X, Z, p) - leaf.log_L(model, SHIFTED_2, X, Z, p) for p in [GP, *others]]
    close(gaps, gaps[0])


def test_a_singular_correlation_has_log_density_minus_infinity():
    twice = np.array([[0.0], [0.0], [1.0]])
    p = replace(GP, g=0.0)
    assert leaf.log_M(LeafModel(), UNIT_2, twice, Z[:3], p) == -inf
    assert leaf.log_L(LeafModel(), UNIT_2, twice, Z[:3], p) == -inf


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
    model, x_new = LeafModel(coef=coef), np.array([[at]])
    y_mean, y_cov = leaf.predict(model, UNIT_2, X, Z, p, 1.0, x_new, of="y")
    f_mean, f_cov = leaf.predict(model, UNIT_2, X, Z, p, 1.0, x_new, of="f")
    close(y_mean, mean)
    close(y_cov, variance)
    close(f_mean, mean)
    close(f_cov, variance - (1.1 if p is LINEAR else 0.1), 9)


def condition(mean, cov, known, values):
    """Mean and covariance of the other components of N(mean, cov)."""
    other = np.setdiff1d(np.arange(len(mean)), known)
    gain = np.linalg.solve(cov[np.ix_(known, known)], cov[np.ix_(known, other)]).T
    return (
        mean[other] + gain @ (values - mean[known]),
        cov[np.ix_(other, other)] - gain @ cov[np.ix_(known, other)],
    )


def joint(model, hyper, x, p, sigma2):
    """Z ~ N(F beta0, sigma2 (K + tau2 F W F'))."""
    F = leaf.design(model, x)
    cov = leaf.correlation(model, x, p) + p.tau2 * F @ np.linalg.inv(hyper.W_inv) @ F.T
    return F @ hyper.beta0, sigma2 * cov


def test_latent_conditional_fixture():
    model, p = LeafModel(mean="constant", coef="fixed"), replace(GP, tau2=0.7)
    covariance = [[0.427043491966, 0.285149279548], [0.285149279548, 0.427043491966]]
    for mean, cov in [
        condition(*joint(model, SHIFTED_1, X, p, 1.0), np.array([0, 3]), Z[[0, 3]]),
        leaf.predict(model, SHIFTED_1, X[[0, 3]], Z[[0, 3]], p, 1.0, X[[1, 2]], of="y"),
    ]:
        close(mean, [0.159610307536, 0.240389692464])
        close(cov, covariance)


@pytest.mark.parametrize("p", [replace(GP, tau2=0.7), replace(LINEAR, tau2=0.7)], ids=["gp", "linear"])
def test_prediction_is_the_schur_complement_of_the_joint_covariance(p):
    model, x_new = LeafModel(coef="fixed"), np.array([[0.5], [0.9], [1.5]])
    expected = condition(*joint(model, SHIFTED_2, np.vstack([X, x_new]), p, 1.7), np.arange(4), Z)
    for actual, value in zip(leaf.predict(model, SHIFTED_2, X, Z, p, 1.7, x_new, of="y"), expected, strict=True):
        close(actual, value)


def test_prediction_limits():
    x_new = np.array([[0.4], [1.5]])

    def predicted(coef, p, hyper=UNIT_2, at=x_new, of="y"):
        return np.hstack([a.ravel() for a in leaf.predict(LeafModel(coef=coef), hyper, X, Z, p, 1.3, at, of)])

    nearly_flat = replace(UNIT_2, W_inv=1e-10 * np.eye(2))
    for p in (GP, LINEAR):
        close(predicted("fixed", p, nearly_flat), predicted("flat", p), 7)
    for coef in ("flat", "fixed"):
        close(predicted(coef, replace(GP, d=(1e-6,))), predicted(coef, LINEAR))
        at_data = predicted(coef, replace(GP, g=1e-10), at=X[:2], of="f")
        np.testing.assert_allclose(at_data, [*Z[:2], 0, 0, 0, 0], atol=1e-8)


def test_treeless_linear_model_closed_form():
    model = LeafModel(coef="flat")
    c = leaf.conditional(model, UNIT_2, X, Z, IID)
    close(c.btilde, [-0.03, 0.36])
    close(leaf.lambda_residual(c, UNIT_2, Z), 0.138)
    shape, rate = leaf.sigma2_posterior(model, UNIT_2, X, Z, IID)
    close([shape, rate / (shape - 1)], [3.5, 2.0276])


def test_matern():
    x = np.array([[0.0], [0.3]])
    p = LeafParams((0.4,), (1,), 0.1)
    assert leaf.strict_correlation(LeafModel("matern32"), x, x, p)[0, 1] == pytest.approx(0.826641467297, rel=1e-10)
    for kernel, nu in [("matern12", 0.5), ("matern32", 1.5), ("matern52", 2.5)]:
        r = 0.3 / 0.4
        bessel = 2 ** (1 - nu) / exp(lgamma(nu)) * r**nu * kv(nu, r)
        close(leaf.strict_correlation(LeafModel(kernel), x, x, p), [[1, bessel], [bessel, 1]])


@pytest.mark.parametrize("kernel", ["gaussian", "matern12", "matern32", "matern52"])
def test_ranges_and_booleans(kernel):
    x, model = np.random.default_rng(1).random((5, 3)), LeafModel(kernel)

    def K(d, b, columns=slice(None)):
        return leaf.correlation(model, x[:, columns], LeafParams(d, b, 0.2))

    close(K((0.3,), (1,)), K((0.3, 0.3, 0.3), (1, 1, 1)))
    close(K((0.3, 0.5, 0.7), (1, 0, 1)), K((0.3, 0.7), (1, 1), [0, 2]))
    close(K((0.3, 0.5, 0.7), (0, 0, 0)), 1.2 * np.eye(5))
    close(K((0.3,), (0,)), K((), ()))


def test_p_linear_fixture():
    expected = [0.204684995647, 0.212590346973, 0.55, 0.895315004353, 0.899999785868]
    close([priors.p_linear((10, 0.2, 0.7), d) for d in (0, 0.1, 0.5, 1, 2)], expected)
    assert priors.p_linear(None, 0.3) == 0


# ---- trees


def split_data(columns, kinds, **options):
    """Numeric columns as values, categorical ones as level indices."""
    codes = np.stack([rules.dense_ranks(column) for column in columns], axis=1)
    return SplitData(codes, tuple(kinds), tuple(int(u) + 1 for u in codes.max(axis=0)), **options)


SCATTERED = np.array([[0.1, 0.5], [0.25, 0.9], [0.4, 0.05], [0.6, 0.7], [0.8, 0.3], [0.95, 0.6]])
LEVELS = np.array([0, 1, 2, 0, 1, 2])
CASES = {
    "one dimension": split_data([np.arange(7)], ["numeric"]),
    "five scattered": split_data(SCATTERED[:5].T, ["numeric"] * 2),
    "six scattered": split_data(SCATTERED.T, ["numeric"] * 2, max_depth=3),
    "six scattered, pairs": split_data(SCATTERED.T, ["numeric"] * 2, min_leaf=2, alpha=0.8, beta=1.0),
    "categorical": split_data([LEVELS, SCATTERED[:, 1]], ["categorical", "numeric"], max_depth=3),
    "categorical only": split_data([LEVELS], ["categorical"]),
    "ties": split_data([[0, 0, 1, 1, 2, 3], SCATTERED[:, 1]], ["numeric"] * 2, min_leaf=2),
    "flat": split_data(
        SCATTERED.T,
        ["numeric"] * 2,
        F=np.column_stack([np.ones(6), [0, 0, 1, 1, 2, 2]]),
    ),
}


@pytest.fixture(params=CASES, name="split")
def split_case(request):
    return CASES[request.param]


def test_tree_prior_sums_to_one(split):
    p = np.exp([rules.log_p_tree(split, tree) for tree in rules.all_trees(split)])
    assert abs(p.sum() - 1) < 1e-12


def test_enumerated_trees_are_distinct_and_counted():
    trees = rules.all_trees(CASES["one dimension"])
    assert len(trees) == len(set(trees)) == 731


def test_leaf_count_fixture():
    split = split_data([[0, 0.5, 1]], ["numeric"])
    p = defaultdict(float)
    for tree in rules.all_trees(split):
        p[len(rules.leaf_rows(split, tree))] += exp(rules.log_p_tree(split, tree))
    close([p[1], p[2], p[3]], [0.5, 0.4375, 0.0625])


def test_structure_ratio_of_grow_where_every_node_can_split():
    split = CASES["one dimension"]
    trees = [None, (0, 2, None, None), (0, 2, None, (0, 4, None, None))]
    log_p = [rules.log_structure(split, tree) for tree in trees]
    close(np.exp(np.diff(log_p)), [0.765625, 0.127425044092])


def test_rule_prior_is_uniform_over_columns_partitions_and_cuts():
    split = CASES["six scattered"]  # ranks of column 1: 2 5 0 4 1 3
    in_node = rules.rule_prior(split, (0, 1, 4))  # ranks 0 1 4 and 2 5 1
    expected = {(0, 0): 1 / 4, (0, 1): 1 / 12, (0, 2): 1 / 12, (0, 3): 1 / 12}
    expected |= {(1, 1): 1 / 4, (1, 2): 1 / 12, (1, 3): 1 / 12, (1, 4): 1 / 12}
    assert in_node == pytest.approx(expected)
    assert rules.rule_prior(CASES["categorical only"], (0, 2, 3)) == {(0, 0): 0.5, (0, 2): 0.5}
    assert rules.rule_prior(CASES["categorical only"], (0, 3)) == {}


def test_flat_prior_needs_full_rank_children():
    x = np.array([0.0, 0.0, 1.0, 2.0, 3.0])
    F = np.column_stack([np.ones(5), x])
    assert list(rules.rule_prior(split_data([x], ["numeric"], F=F), (0, 1, 2, 3, 4))) == [(0, 1)]
    assert list(rules.rule_prior(split_data([x], ["numeric"]), (0, 1, 2, 3, 4))) == [(0, 0), (0, 1), (0, 2)]


def test_an_inadmissible_tree_has_prior_zero():
    split = split_data([np.arange(4)], ["numeric"], max_depth=1)
    assert rules.log_rules(split, (0, 1, (0, 2, None, None), None)) == -inf
    assert rules.log_structure(split, (0, 1, (0, 0, None, None), None)) == -inf


@pytest.mark.parametrize("name", ["five scattered", "six scattered, pairs", "categorical"])
def test_drawn_trees_follow_the_enumerated_prior(name):
    """Chi-square, cells below 5 expected draws pooled; false-fail rate 1e-4 a case."""
    split, draws, rng = CASES[name], 20_000, np.random.default_rng(731)
    seen = Counter(rules.draw_tree(split, rng) for _ in range(draws))
    trees = rules.all_trees(split)
    assert set(seen) <= set(trees)
    expected = draws * np.exp([rules.log_p_tree(split, tree) for tree in trees])
    observed = np.array([seen[tree] for tree in trees])
    rare = expected < 5
    observed = np.append(observed[~rare], observed[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    assert chisquare(observed[keep], expected[keep]).pvalue > 1e-4


# ---- moves

ONE_VECTOR = LeafPrior(n_range=0, d=(), g=(("atom", 1.0, 0.1),))
TWO_VECTORS = LeafPrior(n_range=0, d=(), g=(("atom", 0.3, 0.1), ("atom", 0.7, 2.0)))
EIGHT_VECTORS = LeafPrior(
    n_range=1,
    d=(("atom", 0.4, 0.1), ("atom", 0.6, 0.8)),
    g=(("atom", 0.3, 0.1), ("atom", 0.7, 0.5)),
    limiting=(10, 0.2, 0.7),
)
CHAINS = {
    "one dimension": (CASES["one dimension"], ONE_VECTOR),
    "five scattered": (CASES["five scattered"], ONE_VECTOR),
    "six scattered": (CASES["six scattered"], ONE_VECTOR),
    "six scattered, pairs, eight vectors": (CASES["six scattered, pairs"], EIGHT_VECTORS),
    "categorical": (CASES["categorical"], ONE_VECTOR),
    "categorical only, two vectors": (CASES["categorical only"], TWO_VECTORS),
    "ties, two vectors": (CASES["ties"], TWO_VECTORS),
    "flat": (CASES["flat"], ONE_VECTOR),
}
KERNELS = {
    "grow and prune": (moves.grow, moves.prune),
    "change": (moves.change,),
    "shift": (moves.shift,),
    "swap": (moves.swap,),
    "rotate": (moves.rotate,),
}


@pytest.fixture(scope="module", params=CHAINS, name="chain")
def chain_case(request):
    """(split, prior, states, log_pi) with data."""
    split, prior = CHAINS[request.param]
    n = len(split.codes)
    x = split.codes / max(split.sizes)
    y = np.random.default_rng(6).standard_normal(n)
    flat = split.F is not None
    model = target.Model(x, y, split, LeafModel(mean="constant", coef="flat" if flat else "fixed"), prior)
    states = moves.all_states(split, prior)
    hyper = replace(UNIT_1, a_s=3.0, g_s=1.0)
    log_pi = np.array([target.log_target(model, target.State(*state, hyper)) for state in states])
    return split, prior, states, log_pi - np.logaddexp.reduce(log_pi)


def step(chain, proposers):
    split, prior, states, log_pi = chain
    matrices = [moves.transition_matrix(split, prior, states, log_pi, propose) for propose in proposers]
    return sum(matrices) / len(matrices)


@pytest.mark.parametrize("proposers", KERNELS.values(), ids=KERNELS)
def test_detailed_balance(chain, proposers):
    pi_ = np.exp(chain[3])
    P = step(chain, proposers)
    flow = P.multiply(pi_[:, None]).tocsr()
    assert abs(P.sum(axis=1) - 1).max() < 1e-12
    assert abs(flow - flow.T).max() < 1e-12
    assert abs(pi_ @ P - pi_).sum() < 1e-10


@pytest.mark.parametrize("proposers", KERNELS.values(), ids=KERNELS)
def test_reverse_probabilities_are_those_the_reverse_move_enumerates(chain, proposers):
    split, prior, states, _ = chain
    forward, reverse = defaultdict(float), defaultdict(float)
    for propose, undo in zip(proposers, reversed(proposers), strict=True):
        for state in states[:500]:
            for move in propose(split, prior, *state):
                if move.params is not None:
                    reverse[propose, state, (move.tree, move.params)] += move.q_reverse
        for _, there, back in [key for key in reverse if key[0] is propose]:
            forward[propose, there, back] = sum(
                m.q_forward for m in undo(split, prior, *back) if m.params is not None and (m.tree, m.params) == there
            )
    assert forward == pytest.approx(reverse, rel=1e-12)


def test_all_moves_reach_every_state():
    """The mixture is irreducible on data where each move alone is not."""
    split, prior = CHAINS["categorical"]
    states = moves.all_states(split, prior)
    chain = split, prior, states, np.zeros(len(states))
    P = step(chain, [propose for group in KERNELS.values() for propose in group])
    reached = np.zeros(len(states))
    reached[0] = 1
    for _ in range(2 * len(states)):
        grown = ((reached @ P + reached) > 0).astype(float)
        if (grown == reached).all():
            break
        reached = grown
    assert reached.all()


@pytest.mark.parametrize("damaged", [moves.grow, moves.change, moves.shift])
def test_the_balance_check_sees_a_wrong_reverse_probability(damaged):
    split, prior = CHAINS["five scattered"]
    states = moves.all_states(split, prior)
    log_pi = np.array([rules.log_p_tree(split, tree) for tree, _ in states])

    def symmetric(*args):
        return [replace(m, q_reverse=m.q_forward) for m in damaged(*args)]

    others = (moves.prune,) if damaged is moves.grow else ()
    P = step((split, prior, states, log_pi), (symmetric, *others))
    assert abs(np.exp(log_pi) @ P - np.exp(log_pi)).sum() > 1e-4


# ---- target and simulation

MIXTURE = (("gamma", 0.5, 1.0, 20.0), ("gamma", 0.5, 10.0, 10.0))


def hierarchical_model(split=CASES["five scattered"], mean="linear"):
    return target.Model(
        x=SCATTERED[: len(split.codes)],
        y=np.random.default_rng(2).standard_normal(len(split.codes)),
        split=split,
        leaf=LeafModel(mean=mean, coef="hierarchical"),
        prior=LeafPrior(2, MIXTURE, (("gamma", 1.0, 1.0, 1.0),), limiting=(10, 0.2, 0.7)),
        tau2_random=True,
        s2_rates=(0.2, 10.0),
        tau2_rates=(0.2, 0.1),
    )


def test_target_terms():
    model = hierarchical_model(mean="constant")
    params = (LeafParams((0.2, 0.9), (1, 0), 0.3, 1.5), LeafParams((0.5, 0.5), (0, 0), 0.1, 0.4))
    hyper = Hyper(np.array([0.3]), np.array([[0.8]]), a_s=3.0, g_s=0.2, a_t=6.0, g_t=4.0)
    terms = target.log_terms(model, target.State((0, 1, None, None), params, hyper))
    d_density = [sum(w * gamma.pdf(d, a, scale=1 / b) for _, w, a, b in MIXTURE) for d in (0.2, 0.9, 0.5, 0.5)]
    p0 = [priors.p_linear((10, 0.2, 0.7), d) for d in (0.2, 0.9)]
    ig = [3 * log(2) - lgamma(3) - 4 * log(tau2) - 2 / tau2 for tau2 in (1.5, 0.4)]
    rows = [[0, 1], [2, 3, 4]]
    expected = {
        "likelihood": sum(
            leaf.log_M_t(model.leaf, hyper, model.x[r], model.y[r], p) for r, p in zip(rows, params, strict=True)
        ),
        "structure": log(0.5) + 2 * log(1 - 0.125),
        "rules": log(1 / 8),
        "d": np.log(d_density).sum(),
        "b": log(1 - p0[0]) + log(p0[1]) + 2 * log(0.55),
        "g": -0.4,
        "tau2": sum(ig),
        "beta0": -0.5 * log(2 * pi) - 0.045,
        "W_inv": log(2) - 1.6,  # m = 1: G(1, 2)
        "s2_hyper": log(0.2) - 0.2 + log(10) - 2,
        "tau2_hyper": log(0.2) - 0.8 + log(0.1) - 0.4,
    }
    assert terms == pytest.approx(expected, rel=1e-10)
    assert target.log_target(model, target.State((0, 1, None, None), params, hyper)) == pytest.approx(
        sum(expected.values())
    )


def test_fixed_parameters_contribute_nothing():
    split = CASES["five scattered"]
    prior = LeafPrior(1, (("atom", 1.0, 0.5),), (("atom", 1.0, 0.1),))
    model = target.Model(SCATTERED[:5], Z[[0, 1, 2, 3, 0]], split, LeafModel(coef="fixed"), prior)
    hyper = Hyper(np.zeros(3), np.eye(3))
    terms = target.log_terms(model, target.State(None, (GP,), hyper))
    assert {name for name, term in terms.items() if term != 0} == {"likelihood", "structure"}


def test_priors_integrate_to_one():
    close(quad(lambda d: exp(priors.log_mixture(MIXTURE, d)), 0, 10, points=[0.1, 1])[0], 1, 8)
    g_mass = quad(lambda g: quad(lambda a: exp(target.log_hyper(a, g, (0.2, 10))), 2, 200)[0], 0, 5)[0]
    close(g_mass, 1, 8)
    split, prior = CHAINS["six scattered, pairs, eight vectors"]
    total = sum(
        exp(rules.log_p_tree(split, tree)) * np.prod([priors.p_fresh(prior, p) for p in params])
        for tree, params in moves.all_states(split, prior)
    )
    assert abs(total - 1) < 1e-12


def pivots(model, draw):
    """Integral transforms of the first leaf and of the hyperparameters: each uniform on (0, 1)."""
    state, hyper = draw.state, draw.state.hyper
    r = list(rules.leaf_rows(model.split, state.tree)[0])
    p, sigma2, beta, y, n = state.params[0], draw.sigma2[0], draw.beta[0], draw.y[r], len(r)
    F, K = leaf.design(model.leaf, model.x[r]), leaf.correlation(model.leaf, model.x[r], p)
    e = y - F @ beta
    mean, cov = joint(model.leaf, hyper, model.x[r], p, 1.0)
    marginal = (y - mean) @ np.linalg.solve(cov, y - mean)
    shrink = beta - hyper.beta0
    return {
        "d": sum(w * gamma.cdf(p.d[0], a, scale=1 / b) for _, w, a, b in model.prior.d),
        "g": 1 - exp(-p.g),
        "tau2": chi2.sf(hyper.g_t / p.tau2, hyper.a_t),
        "sigma2": chi2.sf(hyper.g_s / sigma2, hyper.a_s),
        "beta": chi2.cdf(shrink @ hyper.W_inv @ shrink / (sigma2 * p.tau2), len(beta)),
        "y given beta": chi2.cdf(e @ np.linalg.solve(K, e) / sigma2, n),
        "y": f.cdf(marginal / n * hyper.a_s / hyper.g_s, n, hyper.a_s),
        "beta0": chi2.cdf(hyper.beta0 @ hyper.beta0, len(beta)),
        "W_inv": chi2.cdf(hyper.W_inv[0, 0] * 2 * (len(beta) + 1), len(beta) + 1),
        "a_s": 1 - exp(-0.2 * (hyper.a_s - 2)),
        "g_s": 1 - exp(-10 * hyper.g_s),
        "a_t": 1 - exp(-0.2 * (hyper.a_t - 2)),
        "g_t": 1 - exp(-0.1 * hyper.g_t),
    }


def test_simulated_values_are_uniform_after_their_integral_transform():
    """Kolmogorov-Smirnov; false-fail rate 1e-4 for each of 13 quantities."""
    model, rng = hierarchical_model(), np.random.default_rng(15)
    draws = [simulate.draw_all(model, Hyper(np.zeros(3), np.eye(3)), rng) for _ in range(2000)]
    table = [pivots(model, draw) for draw in draws]
    p_values = {name: kstest([row[name] for row in table], "uniform").pvalue for name in table[0]}
    assert min(p_values.values()) > 1e-4, p_values


def test_simulated_booleans_follow_p_linear():
    model, rng = hierarchical_model(), np.random.default_rng(5)
    draws = [simulate.draw_params(model, Hyper(np.zeros(3), np.eye(3)), rng) for _ in range(5000)]
    p0 = np.array([priors.p_linear(model.prior.limiting, p.d[1]) for p in draws])
    linear = np.array([p.b[1] == 0 for p in draws])
    z = (linear - p0).sum() / np.sqrt((p0 * (1 - p0)).sum())
    assert abs(z) < 4


def test_simulated_response_has_the_stated_covariance():
    model = hierarchical_model(split_data(SCATTERED[:5].T, ["numeric"] * 2, alpha=0.0))
    state = target.State(None, (LeafParams((0.2, 0.9), (1, 1), 0.3),), Hyper(np.zeros(3), np.eye(3)))
    beta, rng = np.array([[0.5, -1.0, 2.0]]), np.random.default_rng(8)
    y = np.array([simulate.draw_response(model, state, [1.7], beta, rng) for _ in range(4000)])
    F, K = leaf.design(model.leaf, model.x), leaf.correlation(model.leaf, model.x, state.params[0])
    law = multivariate_normal(F @ beta[0], 1.7 * K)
    assert abs(law.logpdf(y).mean() + law.entropy()) < 4 * np.sqrt(5 / 2 / 4000)
    np.testing.assert_allclose(y.mean(axis=0), F @ beta[0], atol=4 * np.sqrt(1.7 * 1.3 / 4000))


def test_the_flat_prior_cannot_be_simulated():
    split = CASES["flat"]
    model = target.Model(SCATTERED, np.zeros(6), split, LeafModel(), ONE_VECTOR)
    with pytest.raises(ValueError, match="flat"):
        simulate.draw_all(model, UNIT_2, np.random.default_rng(0))
