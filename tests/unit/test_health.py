"""What a fit's diagnostics say, in words: they may be silent only where there is nothing to say."""

import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from treedgp import ConvergenceWarning
from treedgp.model.data import InputEncoder
from treedgp.model.spec import SCALAR_MOVES, TREE_MOVES
from treedgp.posterior.diagnostics import NO_CHANGE, describe
from treedgp.posterior.draws import Draws
from treedgp.posterior.health import ESS_A_CHAIN, Finding, examine, warn_once
from treedgp.posterior.posterior import Posterior
from treedgp.sampling.chain import Chunk
from treedgp.sampling.run import Run

CHAINS, N = 4, 400
MOVES = [*TREE_MOVES, *SCALAR_MOVES]


def noise(seed=0, chains=CHAINS, draws=N):
    return np.random.default_rng(seed).standard_normal((chains, draws))


def texts(findings, level):
    return " | ".join(str(f) for f in findings if f.level == level)


def look(*traces, changes=(5, 6, 7, 8), failed=0.0, **integer):
    descriptions = [describe(f"t{i}", trace, **integer) for i, trace in enumerate(traces)]
    return examine(descriptions, len(traces[0]), None if changes is None else np.array(changes), failed)


def test_a_good_fit_gives_no_warning_but_always_the_number_of_tree_changes():
    findings = look(noise(), noise(1))
    assert texts(findings, "warning") == ""
    assert "Tree changes per chain: 5, 6, 7, 8" in texts(findings, "info")


def test_a_trace_that_never_moves_is_reported_as_such_and_left_out_of_the_gates():
    findings = look(np.full((CHAINS, N), 3.0), noise())
    assert texts(findings, "warning") == ""
    assert "No change seen in t0" in texts(findings, "info")
    assert "not estimable" in texts(findings, "info")


def test_chains_that_are_still_but_apart_fail():
    still = np.repeat([[1.0], [1.0], [2.0], [1.0]], N, axis=1)
    description = describe("t0", still)
    assert description.rhat == math.inf
    assert math.isnan(description.ess_bulk)
    assert "chains disagree: t0 (R-hat inf)" in texts(look(still), "warning")


def test_chains_in_different_places_fail():
    apart = noise() + np.arange(CHAINS)[:, None]
    message = texts(look(apart, noise(1)), "warning")
    assert "The chains disagree: t0" in message
    assert "t1" not in message
    assert "Raise tune and draws" in message


def test_few_effective_draws_are_named_with_their_number():
    walk = noise().cumsum(axis=1) * 0.01 + noise(2) * 1e-3
    message = texts(look(walk - walk.mean(axis=1, keepdims=True)), "warning")
    assert f"want {ESS_A_CHAIN * CHAINS}" in message
    assert "t0 (" in message


def test_a_trace_with_too_few_draws_is_never_called_fine():
    """ESS is not estimable below MIN_DRAWS: that is a warning, not silence."""
    assert "too few draws" in texts(look(noise(draws=5)), "warning").lower()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_trace_that_is_not_finite_is_never_called_fine(bad):
    trace = noise()
    trace[2, 17] = bad
    assert "not finite" in texts(look(trace), "warning")


def test_an_integer_trace_has_no_tail_ess_and_is_judged_by_its_bulk():
    counts = np.random.default_rng(0).integers(1, 3, size=(CHAINS, N))
    assert math.isnan(describe("t0", counts, integer=True).ess_tail)
    assert texts(look(counts, integer=True), "warning") == ""


def test_a_frozen_tree_is_a_warning():
    message = texts(look(noise(), changes=(3, 0, 4, 0)), "warning")
    assert "2 of 4 chains never changed their tree" in message


def test_a_model_without_tree_says_nothing_about_trees():
    findings = look(noise(), changes=None)
    assert "tree" not in (texts(findings, "info") + texts(findings, "warning")).lower()


def test_one_chain_is_said_to_be_unchecked():
    findings = look(noise(chains=1), changes=(3,))
    assert "One chain" in texts(findings, "info")
    assert texts(findings, "warning") == ""


def test_failed_factorisations_are_reported_above_one_percent():
    assert texts(look(noise(), failed=0.009), "warning") == ""
    assert "2.5% of the matrices" in texts(look(noise(), failed=0.025), "warning")


def test_all_warnings_are_raised_as_one():
    findings = [Finding("warning", "First."), Finding("info", "Nothing."), Finding("warning", "Second.", "Do this.")]
    with pytest.warns(ConvergenceWarning) as caught:
        warn_once(findings)
    assert len(caught) == 1
    assert str(caught[0].message).splitlines()[1:] == ["First.", "Second. Do this."]


def test_information_alone_raises_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_once([Finding("info", "Nothing.")])
        warn_once([])


# --- through Posterior ---


ROWS = np.arange(100.0)[:, None]


def posterior(n_leaves, log_posterior, f, changed=1, has_tree=True, X=ROWS, categorical=(), failed=0):
    """A Posterior over made-up traces (chain, draw); `f` is E f at every probe, `X` what the tree may split on."""
    sizes = 2 * np.asarray(n_leaves).ravel() - 1
    arrays = {"node_start": np.concatenate([[0], np.cumsum(sizes)]), "log_posterior": np.ravel(log_posterior)}
    draws = Draws(arrays, len(n_leaves))
    split = tuple(range(X.shape[1]))
    encoder = InputEncoder.learn(X, [f"x{i}" for i in split], set(categorical), split, ())
    spec = SimpleNamespace(min_leaf=lambda columns: 10)
    problem = SimpleNamespace(n_latents=0, x=X, codes=encoder.codes(X), encoder=encoder, spec=spec)
    predictor = SimpleNamespace(
        layers=(draws,),
        problem=problem,
        probe_traces=lambda X: {f"f(probe {i})": np.ravel(f) for i in range(len(X))},
    )
    counts = np.zeros((len(n_leaves), len(MOVES), 2), dtype=np.int64)
    counts[:, MOVES.index("grow")] = (100, changed)
    counts[:, MOVES.index("range")] = (50, 20)
    counts[:, MOVES.index("noise g")] = (5000, 0)  # proposes no matrix
    return Posterior(predictor, np.zeros((5, 1)), counts, failed, has_tree, {})


def test_a_fit_that_keeps_one_leaf_is_healthy_and_says_no_change_seen():
    post = posterior(np.ones((4, N), int), noise(), noise(1))
    assert texts(post.health(), "warning") == ""
    row = post.summary().loc["n_leaves"]
    assert row["note"] == NO_CHANGE
    assert np.isnan(row[["rhat", "ess_bulk", "ess_tail", "mcse_mean"]].astype(float)).all()
    assert (row["mean"], row["sd"]) == (1, 0)


@pytest.mark.parametrize(("failed", "share"), [(6, None), (15, "2.5%"), (5000, "100.0%")])
def test_failed_factorisations_are_a_share_of_the_moves_that_propose_matrices(failed, share):
    message = texts(posterior(np.ones((4, N), int), noise(), noise(1), failed=failed).health(), "warning")
    assert message.partition(" of the matrices")[0] == (share or "")


def test_factorisations_that_fail_in_tuning_are_not_counted():
    run = Run([None], [[]], np.zeros((1, len(MOVES), 2), dtype=np.int64))
    chunk = Chunk(None, [], np.ones((len(MOVES), 2), dtype=np.int64), 3, 0.0)
    run.add([chunk], tuning=True)
    assert (run.failed_factorisations, run.counts.sum()) == (0, 0)
    run.add([chunk], tuning=False)
    assert (run.failed_factorisations, run.counts[0, 0, 0]) == (3, 1)


def test_chains_stuck_at_different_trees_are_found_through_the_number_of_leaves():
    leaves = np.repeat([[2], [2], [3], [2]], N, axis=1)
    post = posterior(leaves, noise(), noise(1), changed=0)
    message = texts(post.health(), "warning")
    assert "n_leaves (R-hat inf)" in message
    assert "4 of 4 chains never changed" in message


def test_disagreement_on_the_surface_is_found_at_the_probes():
    message = texts(posterior(np.ones((4, N), int), noise(), noise(1) + np.arange(4)[:, None]).health(), "warning")
    assert "f(probe 0)" in message
    assert "log_posterior" not in message


def test_summary_lists_every_watched_scalar():
    post = posterior(np.ones((4, N), int), noise(), noise(1))
    assert list(post.summary().index) == ["log_posterior", "n_leaves", *(f"f(probe {i})" for i in range(5))]
    assert "n_leaves" not in posterior(np.ones((4, N), int), noise(), noise(1), has_tree=False).summary().index


def test_the_summary_of_one_chain_says_why_there_is_no_rhat():
    summary = posterior(np.arange(N)[None] % 3 + 1, noise(chains=1), noise(1, chains=1)).summary()
    assert summary["rhat"].isna().all()
    assert (summary["note"] == "one chain").all()


def test_acceptance_shows_only_moves_that_were_tried():
    frame = posterior(np.ones((4, N), int), noise(), noise(1), changed=25).acceptance()
    assert list(frame.index) == ["grow", "range", "noise g"]
    assert frame.loc["grow"].tolist() == [400, 100, 0.25]
    assert frame.loc["range", "rate"] == pytest.approx(0.4)


def test_traces_have_shape_chain_draw():
    leaves = np.arange(4 * N).reshape(4, N) % 3 + 1
    log_posterior = noise()
    post = posterior(leaves, log_posterior, noise(1))
    assert np.array_equal(post.n_leaves, leaves)
    assert np.array_equal(post.log_posterior, log_posterior)
    assert [trace.shape for trace in post.probe_traces.values()] == [(4, N)] * 5


@pytest.mark.parametrize(("rows", "is_said"), [(19, True), (20, False)])
def test_too_few_rows_to_split_are_said_instead_of_advice_to_run_longer(rows, is_said):
    found = posterior(np.ones((4, N), int), noise(), noise(1), changed=0, X=ROWS[:rows]).health()
    few = [f for f in found if "too few for a split: a leaf holds at least 10" in f.text]
    assert len(few) == is_said
    assert all(f.level == "info" for f in few)
    assert any("never changed" in f.text for f in found) != is_said


def parted(*counts):
    return np.repeat(np.arange(float(len(counts))), counts)[:, None]


@pytest.mark.parametrize(
    ("X", "categorical", "can_split"),
    [
        (np.empty((100, 0)), (), False),
        (np.ones((100, 1)), (), False),
        (parted(91, 9), (), False),
        (parted(90, 10), (), True),
        (parted(91, 9), (0,), False),
        (parted(90, 10), (0,), True),
        (ROWS % 12, (0,), False),  # no level has 10 rows
        (ROWS % 12, (), True),
        (np.column_stack([np.ones(100), ROWS]), (), True),
    ],
)
def test_a_tree_that_cannot_split_is_said_instead_of_advice_to_run_longer(X, categorical, can_split):
    still = np.ones((4, N), int)
    found = posterior(still, noise(), noise(1), changed=0, X=X, categorical=categorical).health()
    assert ("4 of 4 chains never changed" in texts(found, "warning")) == can_split
    assert ("no rule on its columns leaves at least 10 rows on both sides" in texts(found, "info")) != can_split
    assert can_split or texts(found, "warning") == ""
