"""What a classifier gives: probabilities, votes, latents, trees by class, diagnostics."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln

from treedgp import ConfigError, ConvergenceWarning, DataError, Priors, TreedGPClassifier, TreePrior, datasets
from treedgp.model.spec import SCALAR_MOVES, TREE_MOVES
from treedgp.posterior.classes import ClassPredictor

pytestmark = pytest.mark.filterwarnings("ignore::treedgp.ConvergenceWarning")

MODELS = {
    "per_class": {},
    "shared": {"tree_sharing": "shared"},
    "metropolis": {"latent_sampler": "metropolis", "latent_block_size": 4},
    "constant": {"leaf": "constant"},
    "cgp": {"tree": False},
}
LATENT = [name for name in MODELS if name != "constant"]
CLASSES = ["survives", "thrives", "wilts"]  # of plants; the last is the base
DATA = datasets.make_mixed_classes(120, random_state=0)
PAIR = np.where(DATA.y == "wilts", "dies", "lives")


def model(name="per_class", **settings):
    return TreedGPClassifier(**{"chains": 2, "draws": 60, "tune": 120, "random_state": 0, **MODELS[name], **settings})


@pytest.fixture(scope="module", params=[(name, k) for name in MODELS for k in (2, 3)], ids=lambda p: f"{p[0]}-{p[1]}")
def fitted(request):
    name, n_classes = request.param
    return name, model(name).fit(DATA.X, DATA.y if n_classes == 3 else PAIR)


@pytest.fixture(scope="module")
def three():
    """Each kind of model with three classes."""
    return {name: model(name).fit(DATA.X, DATA.y) for name in MODELS}


# --- probabilities ---


def test_probabilities_sum_to_1_and_predict_takes_the_largest(fitted):
    _, m = fitted
    for ask in ("predict_proba", "vote_proba"):
        shares = getattr(m, ask)(DATA.X)
        assert shares.shape == (120, len(m.classes_))
        assert shares.sum(axis=1) == pytest.approx(1, abs=1e-12)
        assert (shares >= 0).all()
        assert (shares <= 1).all()
    assert np.array_equal(m.predict(DATA.X), m.classes_[m.predict_proba(DATA.X).argmax(axis=1)])


@pytest.mark.parametrize("rows", [[5], [0, 119], list(range(17)), list(range(119, -1, -1))], ids=len)
def test_a_rows_answer_does_not_depend_on_the_other_rows(fitted, rows):
    _, m = fitted
    for ask in ("predict_proba", "vote_proba"):
        whole, part = getattr(m, ask)(DATA.X), getattr(m, ask)(DATA.X.iloc[rows])
        assert part.tobytes() == whole[rows].tobytes()


def test_rows_are_predicted_in_blocks_and_it_does_not_show(three, monkeypatch):
    from treedgp.posterior import classes

    m = three["per_class"]
    X = pd.concat([DATA.X] * 2, ignore_index=True)
    whole = m.predict_proba(X)
    monkeypatch.setattr(classes, "BLOCK_ENTRIES", 1)  # blocks of 64 rows
    assert m.predict_proba(X).tobytes() == whole.tobytes()


@pytest.mark.parametrize("name", ["per_class", "shared", "constant"])
def test_the_signal_is_found(name):
    assert model(name, tune=500).fit(DATA.X, DATA.y).score(DATA.X, DATA.y) > 0.75


def test_certain_rows_have_probabilities_between_0_and_1():
    """Far from the border a two-class integral must not come out above 1."""
    x = np.linspace(0, 1, 80)[:, None]
    m = model().fit(x, x[:, 0] > 0.5)
    for ask in (m.predict_proba, m.vote_proba):
        shares = ask(np.linspace(-0.5, 1.5, 200)[:, None])
        assert shares.min() >= 0
        assert shares.max() <= 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_the_softmax_averaged_over_the_latents(three, n_classes):
    """Against plain Monte Carlo over the latents of every draw."""
    m = three["per_class"] if n_classes == 3 else model().fit(DATA.X, PAIR)
    X = DATA.X.iloc[:3]
    predictor = m.posterior_.predictor
    rng = np.random.default_rng(0)
    repeats = np.repeat(np.arange(len(predictor.layers[0])), 40)
    latents = predictor.sample_latents(m._new_rows(X), repeats, rng)  # (sample, class but the base, row)
    full = np.concatenate([latents, np.zeros((len(latents), 1, 3))], axis=1)
    softmax = np.exp(full - full.max(axis=1, keepdims=True))
    softmax /= softmax.sum(axis=1, keepdims=True)
    votes = full.argmax(axis=1)[:, None, :] == np.arange(n_classes)[None, :, None]
    for ask, sampled in ((m.predict_proba, softmax), (m.vote_proba, votes)):
        error = sampled.std(axis=0) / np.sqrt(len(sampled))
        quadrature = 4e-3 if n_classes == 3 else 1e-6  # of 256 nodes for each draw
        unseen = 5 / len(sampled)  # what is rarer may not have been sampled at all
        assert (np.abs(ask(X).T - sampled.mean(axis=0)) < 5 * error + quadrature + unseen).all()


def class_shares_by_hand(m, X):
    """Bayesian CART: the leaf of each row in each draw's tree, (count + 1) / (rows + classes), averaged."""
    arrays, encoder = m.posterior_.draws.arrays, m.posterior_.problem.encoder
    train, fresh = m.posterior_.problem.codes, encoder.codes(m._new_rows(X))
    labels, k = np.searchsorted(m.classes_, DATA.y), len(m.classes_)
    is_level = [i in DATA.categorical for i in encoder.split]
    total = np.zeros((2, len(X), k))
    for draw in range(len(arrays["log_posterior"])):
        nodes = iter(range(arrays["node_start"][draw], arrays["node_start"][draw + 1]))

        def descend(rows, new, nodes=nodes):
            node = next(nodes)
            column, cut = arrays["column"][node], arrays["cut"][node]
            if column < 0:
                counts = np.bincount(labels[rows], minlength=k)
                total[0, new] += (counts + 1) / (len(rows) + k)
                total[1, new, counts.argmax()] += 1
                return
            for side in (True, False):
                goes = [
                    (codes[at, column] == cut if is_level[column] else codes[at, column] <= cut) == side
                    for codes, at in ((train, rows), (fresh, new))
                ]
                descend(rows[goes[0]], new[goes[1]])

        descend(np.arange(len(train)), np.arange(len(fresh)))
    return total / len(arrays["log_posterior"])


def test_shares_of_constant_leaves_are_those_of_the_trees(three):
    m = three["constant"]
    new = datasets.make_mixed_classes(50, random_state=1).X
    probability, vote = class_shares_by_hand(m, new)
    assert m.predict_proba(new) == pytest.approx(probability, abs=1e-12)
    assert m.vote_proba(new) == pytest.approx(vote, abs=1e-12)


# --- latents ---


@pytest.mark.parametrize("name", LATENT)
def test_latents_have_a_row_for_each_class_but_the_base(three, name):
    X = DATA.X.iloc[:7]
    mean, variance = three[name].latent_mean_and_variance(X)
    assert mean.shape == variance.shape == (2, 7)
    assert (variance > 0).all()
    samples = three[name].sample_posterior(X)
    assert samples.shape == (120, 2, 7)
    assert three[name].sample_posterior(X, n=11).shape == (11, 2, 7)
    assert np.array_equal(three[name].sample_posterior(X), samples)
    assert model(name).fit(DATA.X, PAIR).latent_mean_and_variance(X)[0].shape == (1, 7)


@pytest.mark.parametrize("name", ["per_class", "shared"])
def test_samples_have_the_moments_of_the_latents_with_their_nugget(three, name):
    m = three[name]
    X = DATA.X.iloc[:5]
    rows, predictor = m._new_rows(X), m.posterior_.predictor
    draws = np.repeat(np.arange(120), 60)
    samples = predictor.sample_latents(rows, draws, np.random.default_rng(1)).reshape(120, 60, 2, 5)
    laws = np.array([p._components(rows, "y") for p in predictor._latents()])  # (class, moment, draw, row)
    mean, variance = laws.transpose(1, 2, 0, 3)[:, :, None]
    whitened = (samples - mean) / np.sqrt(variance)  # draws differ in their spread, a few dominate the pooled one
    assert (np.abs(whitened.mean(axis=(0, 1))) < 5 / np.sqrt(120 * 60)).all()
    assert (np.abs(whitened.var(axis=(0, 1)) - 1) < 5 * np.sqrt(2 / (120 * 60))).all()

    mean, variance = m.latent_mean_and_variance(X)
    assert mean == pytest.approx(laws[:, 0].mean(axis=1))
    assert variance == pytest.approx(laws[:, 1].mean(axis=1) + laws[:, 0].var(axis=1))


def test_metropolis_blocks_may_be_as_large_as_the_data():
    """Where a block's law is lost to rounding, which it was for this seed, halves of it move."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (60, 2))
    settings = {"tune": 300, "draws": 300, "chains": 2, "random_state": 1, "latent_sampler": "metropolis"}
    m = TreedGPClassifier(latent_block_size=60, **settings).fit(X, X[:, 0] > 0)
    assert m.score(X, X[:, 0] > 0) > 0.9


def test_a_large_latent_means_a_likely_class():
    x = np.linspace(0, 1, 60)[:, None]
    m = model().fit(x, np.where(x[:, 0] < 0.5, "a", "b"))
    latent, probability = m.latent_mean_and_variance(x)[0][0], m.predict_proba(x)[:, 0]
    assert latent[:20].min() > 0 > latent[-20:].max()
    assert np.corrcoef(latent, probability)[0, 1] > 0.8


@pytest.mark.parametrize("ask", ["latent_mean_and_variance", "sample_posterior"])
def test_constant_leaves_have_no_latents(three, ask):
    with pytest.raises(ConfigError, match=rf"{ask} needs latents.*predict_proba"):
        getattr(three["constant"], ask)(DATA.X)


@pytest.mark.parametrize("n", [0, -1, 2.5, "all", True])
def test_a_number_of_samples_is_a_positive_integer(three, n):
    with pytest.raises(ConfigError, match="n must be an integer of at least 1"):
        three["per_class"].sample_posterior(DATA.X, n=n)


def test_too_many_rows_for_a_joint_law(three):
    X = pd.concat([DATA.X] * 20, ignore_index=True)
    with pytest.raises(DataError, match=r"at most 2000 rows .*latent_mean_and_variance of a classifier"):
        three["per_class"].sample_posterior(X)


# --- trees by class ---


def test_each_class_but_the_base_has_trees_of_its_own(three):
    posterior = three["per_class"].posterior_
    sizes = {}
    for label in CLASSES[:2]:
        trees = posterior.map_trees(target=label)
        assert set(trees) == set(np.unique(posterior.forests[label].height).tolist())
        assert all(tree.height == height and sum(tree.leaf_sizes) == 120 for height, tree in trees.items())
        assert posterior.map_tree(label).n_draws == max(tree.n_draws for tree in trees.values())
        assert all(tree.log_posterior in posterior.log_posterior for tree in trees.values())
        assert "height" in str(next(iter(trees.values())))
        sizes[label] = posterior.trees[label].n_leaves
    assert np.array_equal(posterior.n_leaves, sizes["survives"] + sizes["thrives"])
    assert not np.array_equal(sizes["survives"], sizes["thrives"])
    frequencies = {label: posterior.split_frequencies(target=label) for label in CLASSES[:2]}
    either = posterior.split_frequencies()
    assert list(either.index) == list(DATA.X.columns)
    assert (either >= np.maximum(frequencies["survives"], frequencies["thrives"])).all()
    assert (either <= frequencies["survives"] + frequencies["thrives"]).all()
    assert either["species"] > 0.9


@pytest.mark.parametrize("name", ["shared", "constant"])
def test_classes_that_share_a_tree_give_the_same_one(three, name):
    posterior = three[name].posterior_
    anyone = posterior.map_trees()
    for label in CLASSES[:2]:
        assert posterior.map_trees(target=label) == anyone
        pd.testing.assert_series_equal(posterior.split_frequencies(label), posterior.split_frequencies())
        pd.testing.assert_frame_equal(posterior.split_points("species", label), posterior.split_points("species"))
    assert np.array_equal(posterior.n_leaves, posterior.draws.n_leaves)


def test_the_layers_of_a_shared_tree_have_the_same_tree(three):
    first, second = three["shared"].posterior_.layers
    for name in ("node_start", "column", "cut", "log_posterior"):
        assert np.array_equal(first.arrays[name], second.arrays[name])
    assert not np.array_equal(first.arrays["latent"], second.arrays["latent"])


def test_with_two_classes_a_target_is_not_needed():
    posterior = model().fit(DATA.X, PAIR).posterior_
    assert posterior.map_trees() == posterior.map_trees(target="dies")
    points = posterior.split_points("humidity", target="dies")
    assert list(points.columns) == ["chain", "draw", "depth", "threshold"]
    pd.testing.assert_frame_equal(points, posterior.split_points("humidity"))


def test_split_points_are_those_of_the_class(three):
    posterior = three["per_class"].posterior_
    for label, forest in posterior.forests.items():
        for i, column in enumerate(DATA.X.columns):
            assert len(posterior.split_points(column, target=label)) == np.count_nonzero(forest.column == i)


ASKS = {
    "map_trees": lambda posterior, target: posterior.map_trees(target=target),
    "split_frequencies": lambda posterior, target: posterior.split_frequencies(target=target),
    "split_points": lambda posterior, target: posterior.split_points("humidity", target=target),
}


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("name", ["per_class", "shared", "constant"])
@pytest.mark.parametrize("target", ["wilts", "Thrives", 0, np.array(CLASSES), ["thrives"], pd.NA], ids=str)
def test_a_target_is_the_label_of_a_class_but_the_base(three, ask, name, target):
    with pytest.raises(ConfigError, match=r"target must be one of 'survives', 'thrives' \(the last class is the base"):
        ASKS[ask](three[name].posterior_, target)


@pytest.mark.parametrize("ask", ["map_trees", "split_points"])
def test_with_several_trees_a_target_is_needed(three, ask):
    with pytest.raises(ConfigError, match=r"own tree.*'survives', 'thrives', got None.*target=label"):
        ASKS[ask](three["per_class"].posterior_, None)


def test_targets_are_labels_of_their_own_type():
    x = np.linspace(0, 1, 60)[:, None]
    posterior = model().fit(x, (3 * x[:, 0]).astype(int).clip(0, 2)).posterior_
    assert posterior.map_trees(target=np.int64(1)) == posterior.map_trees(target=1) == posterior.map_trees(target=1.0)
    with pytest.raises(ConfigError, match="must be one of 0, 1 "):
        posterior.map_trees(target="1")


# --- diagnostics ---


def test_summary_covers_every_class(three):
    probes = [f"p(probe {i}, {label})" for i in range(5) for label in CLASSES[:2]]
    leaves = {
        "per_class": ["n_leaves[survives]", "n_leaves[thrives]"],
        "metropolis": ["n_leaves[survives]", "n_leaves[thrives]"],
        "shared": ["n_leaves"],
        "constant": ["n_leaves"],
        "cgp": [],
    }
    for name, m in three.items():
        table = m.posterior_.summary()
        assert list(table.index) == ["log_posterior", *leaves[name], *probes], name
        assert table.loc[probes, "mean"].between(0, 1).all()
        assert np.isfinite(table["mean"]).all()
        assert np.isfinite(m.posterior_.log_posterior).all()
        assert m.posterior_.log_posterior.shape == m.posterior_.n_leaves.shape == (2, 60)


def test_the_log_posterior_of_class_counts_has_nothing_but_them_and_the_tree(three):
    """The multivariate Polya law of the labels; priors that such leaves do not have are not in it."""
    counts = np.unique(DATA.y, return_counts=True)[1]
    expected = gammaln(counts + 1).sum() + gammaln(3) - gammaln(120 + 3)
    alone = model("constant", tree=False).fit(DATA.X, DATA.y)
    np.testing.assert_allclose(alone.posterior_.log_posterior, expected, rtol=1e-12)
    again = model("constant", priors=Priors(tree=TreePrior())).fit(DATA.X, DATA.y)
    np.testing.assert_array_equal(again.posterior_.log_posterior, three["constant"].posterior_.log_posterior)


def test_probe_probabilities_average_to_those_of_predict_proba(three):
    for m in three.values():
        posterior = m.posterior_
        by_draw = posterior.predictor.probability_by_draw(posterior.probes)
        # Three classes are integrated by other nodes here and there.
        assert by_draw.mean(axis=0) == pytest.approx(posterior.predictor.shares(posterior.probes)[0], abs=2e-3)
        assert posterior.probe_traces["p(probe 3, thrives)"].mean() == pytest.approx(by_draw[:, 3, 1].mean())


def test_probes_are_of_several_classes():
    x = np.arange(60.0)[:, None]
    posterior = model().fit(x, np.repeat(["a", "b", "c"], 20)).posterior_
    assert len({int(row) // 20 for row in posterior.probes[:, 0]}) == 3


def test_the_acceptance_table_names_the_moves_that_were_made(three):
    moves = {name: set(m.posterior_.acceptance().index) for name, m in three.items()}
    assert set(TREE_MOVES[:4]) <= moves["per_class"] & moves["shared"] & moves["metropolis"] & moves["constant"]
    assert not moves["cgp"] & {"change", "shift", "swap", "rotate"}
    assert "latent block" in moves["metropolis"]
    assert "latent block" not in moves["per_class"] | moves["shared"] | moves["constant"]
    assert "latent scale" in moves["per_class"] & moves["shared"] & moves["cgp"]
    assert moves["constant"] <= set(TREE_MOVES)
    for m in three.values():
        table = m.posterior_.acceptance()
        assert table["rate"].between(0, 1).all()
        assert set(table.index) <= {*TREE_MOVES, *SCALAR_MOVES}


def test_a_doubtful_fit_warns_once_at_the_users_line():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = model(draws=12, tune=0).fit(DATA.X, DATA.y)
    ours = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    assert len(ours) == 1
    assert ours[0].filename == __file__
    assert "Few effective draws" in str(ours[0].message)
    assert "more. Raise draws" in str(ours[0].message)  # not all dozen of them
    assert [f.level for f in m.posterior_.health()].count("warning") >= 1


def test_a_doubtful_fit_warns_in_code_without_a_module_name():
    """What exec runs has no __name__ unless it is given one."""
    with pytest.warns(ConvergenceWarning, match="Few effective draws"):
        exec("fitted = make(draws=12, tune=0).fit(X, y)", {"make": model, "X": DATA.X, "y": DATA.y})


def test_health_reports_tree_changes(three):
    for name, m in three.items():
        texts = " ".join(str(finding) for finding in m.posterior_.health())
        assert ("Tree changes per chain" in texts) == (name != "cgp")


def test_a_posterior_says_briefly_what_it_is(three):
    assert repr(three["per_class"].posterior_).startswith("<Posterior: 2 chains of 60 draws, 3 classes; see summary()")
    assert isinstance(three["per_class"].posterior_.predictor, ClassPredictor)


# --- settings ---

WRONG = {
    "leaf": ["linear", "GP", None, np.array(["gp"])],
    "tree_sharing": ["common", None, True, np.array(["shared"])],
    "latent_sampler": ["gibbs", None, np.array(["metropolis"])],
    "latent_block_size": [0, -1, 2.5, "ten", None, True],
    "kernel": ["rbf"],
    "tree": ["no"],
    "draws": [0],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_an_impossible_setting_is_named_with_what_came(name, value):
    with pytest.raises(ConfigError, match=rf"{name} must .*got {re.escape(repr(value))}"):
        model(**{name: value}).fit(DATA.X, DATA.y)


def test_latents_need_a_proper_prior():
    from treedgp import CoefficientPrior, NuggetPrior, Priors

    flat = Priors(coefficients=CoefficientPrior(kind="flat"))
    with pytest.raises(ConfigError, match=r"proper prior.*'fixed'.*'hierarchical'.*got 'flat'"):
        model(priors=flat).fit(DATA.X, DATA.y)
    assert model("constant", priors=flat).fit(DATA.X, DATA.y).score(DATA.X, DATA.y) > 0.5
    with pytest.raises(ConfigError, match=r"nugget of at least 1e-10.*got NuggetPrior\(fixed=0"):
        model(priors=Priors(nugget=NuggetPrior(fixed=0.0))).fit(DATA.X, DATA.y)


def test_an_interrupted_fit_keeps_the_draws_so_far(monkeypatch):
    from treedgp.sampling import run

    add = run.Run.add

    def interrupt(self, chunks, tuning):
        add(self, chunks, tuning)
        if not tuning:
            raise KeyboardInterrupt

    monkeypatch.setattr(run.Run, "add", interrupt)
    X, y = DATA.X, DATA.y
    m = model(draws=20_000)
    with pytest.raises(KeyboardInterrupt):
        m.fit(X, y)
    n_draws = m.posterior_.n_leaves.shape[1]
    assert 0 < n_draws < 20_000
    monkeypatch.setattr(run.Run, "add", add)
    assert np.array_equal(model(draws=n_draws).fit(X, y).predict_proba(X[:9]), m.predict_proba(X[:9]))
