// One round, in order: tree moves; ranges and nuggets of each leaf; variances and coefficients.
#pragma once
#include <stdexcept>

#include "treedgp/moves/change.hpp"
#include "treedgp/moves/grow.hpp"
#include "treedgp/moves/nugget.hpp"
#include "treedgp/moves/prune.hpp"
#include "treedgp/moves/range.hpp"
#include "treedgp/moves/rotate.hpp"
#include "treedgp/moves/shift.hpp"
#include "treedgp/moves/swap.hpp"
#include "treedgp/round/hierarchical.hpp"
#include "treedgp/round/leaf_draws.hpp"

namespace treedgp {

template <class Rng>
std::optional<Proposal> propose_tree_move(TreeMove move, const State& s, const Problem& problem, Workspace& ws,
                                          Rng& rng) {
  switch (move) {
    case TreeMove::grow: return propose_grow(s, problem, ws, rng);
    case TreeMove::prune: return propose_prune(s, problem, ws, rng);
    case TreeMove::change: return propose_change(s, problem, ws, rng);
    case TreeMove::shift: return propose_shift(s, problem, ws, rng);
    case TreeMove::swap: return propose_swap(s, problem, ws, rng);
    case TreeMove::rotate: return propose_rotate(s, problem, ws, rng);
  }
  return std::nullopt;
}

template <class Rng>
void move_tree(State& s, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Rng& rng) {
  const auto move = static_cast<TreeMove>(rng.pick_weighted(problem.spec.schedule.weights));
  auto proposal = propose_tree_move(move, s, problem, ws, rng);
  const bool accepted = proposal && accept(proposal->ratio, tempo.anneal, rng);
  if (accepted) commit(s, std::move(*proposal));
  counts.tree[static_cast<int>(move)].add(accepted);
}

template <class Rng>
void move_leaves(State& s, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Rng& rng) {
  const LeafPrior& prior = problem.spec.leaf;
  const int range_moves = prior.n_range > 0 ? tempo.range_moves : 0;
  const int nugget_moves = prior.nugget.fixed() ? 0 : tempo.nugget_moves;
  if (range_moves + nugget_moves == 0) return;
  for (int i = 0; i < static_cast<int>(s.leaves.size()); ++i) {
    double log_marginal_now = log_marginal(problem, s.leaves[i], s.hyper);
    auto decide = [&](LeafProposal&& next, Step step) {
      const bool accepted = accept(next.ratio, tempo.anneal, rng);
      if (accepted) {
        std::swap(s.leaves[i], next.leaf);
        log_marginal_now = next.log_marginal;
      }
      ws.recycle(std::move(next.leaf.basis));
      counts.steps[step].add(accepted);
      if (next.walked) tempo.adapt(s.log_step[step], accepted);
    };
    for (int t = 0; t < range_moves; ++t)
      decide(propose_range(s, problem, ws, i, log_marginal_now, rng), range_step);
    for (int t = 0; t < nugget_moves; ++t)
      decide(propose_nugget(s, problem, ws, i, log_marginal_now, rng), nugget_step);
  }
}

// sigma2, beta and tau2 of every leaf and what the leaves share. First what is updated with sigma2 and beta
// integrated out, then these, then what is conditioned on them.
template <class Rng>
void draw_coefficients(State& s, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Rng& rng) {
  const Spec& spec = problem.spec;
  scale_tau2(s, problem, tempo, counts, rng);
  std::vector<CoefficientPosterior> posts;
  for (const Leaf& leaf : s.leaves) {
    posts.push_back(coefficient_posterior(leaf.data, leaf.params.tau2, spec.coefficients, s.hyper));
    if (!posts.back().ok) throw std::runtime_error("a leaf's coefficients have no posterior: numbers out of range");
  }
  draw_noise_hyper(s, posts, spec, tempo, counts, rng);
  for (std::size_t i = 0; i < posts.size(); ++i) draw_leaf(s.leaves[i], posts[i], spec, s.hyper, rng);
  if (spec.coefficients == CoefficientKind::hierarchical && !(draw_beta0(s, rng) && draw_w(s, rng)))
    ++ws.failed_factorisations;
  draw_tau2_hyper(s, spec, tempo, counts, rng);
}

template <class Rng>
void play_round(State& s, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Rng& rng) {
  if (problem.spec.split.alpha > 0)
    for (int t = 0; t < tempo.tree_moves; ++t) move_tree(s, problem, ws, tempo, counts, rng);
  move_leaves(s, problem, ws, tempo, counts, rng);
  draw_coefficients(s, problem, ws, tempo, counts, rng);
}

// A state drawn from the prior: the tree (or the root alone), every leaf's parameters, hyperparameters at
// their start values. A leaf whose K does not factorise is drawn again.
template <class Rng>
State initial_state(const Problem& problem, bool prior_tree, Workspace& ws, Rng& rng) {
  const Spec& spec = problem.spec;
  const int m = problem.data.m();
  State s;
  s.hyper.beta0.assign(m, 0);
  s.hyper.set_w_inv(Matrix::identity(m));
  s.hyper.a_sigma = spec.sigma2.a;
  s.hyper.g_sigma = spec.sigma2.g;
  s.hyper.a_tau = spec.tau2.a;
  s.hyper.g_tau = spec.tau2.g;
  s.log_step.fill(0);
  const RegionPtr root = problem.partitioner.root();
  s.tree = prior_tree ? draw_tree(rng, spec.split, problem.partitioner, root) : make_leaf(root);
  for (const Position& p : leaves(s.tree)) {
    Leaf leaf;
    int attempts = 0;
    do {
      if (++attempts > 1000) throw std::runtime_error("no draw from the prior gives a positive definite correlation");
      leaf = fit_leaf(problem, ws, p.node->region, spec.leaf.draw(rng, s.hyper));
    } while (!std::isfinite(log_marginal(problem, leaf, s.hyper) + spec.leaf.log_p(leaf.params, s.hyper)));
    s.leaves.push_back(std::move(leaf));
  }
  return s;
}

}  // namespace treedgp
