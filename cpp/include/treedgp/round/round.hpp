// One round of regression, in order: tree moves; ranges and nuggets of each leaf; variances and coefficients.
// classes.hpp makes a round of classification from the same steps.
#pragma once
#include <stdexcept>

#include "treedgp/moves/change.hpp"
#include "treedgp/moves/common_range.hpp"
#include "treedgp/moves/grow.hpp"
#include "treedgp/moves/nugget.hpp"
#include "treedgp/moves/prune.hpp"
#include "treedgp/moves/range.hpp"
#include "treedgp/moves/rotate.hpp"
#include "treedgp/moves/shift.hpp"
#include "treedgp/moves/swap.hpp"
#include "treedgp/moves/variance.hpp"
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

// Ranges, nugget and, where they are parameters, sigma2 and tau2 of every leaf of a layer.
template <class Rng>
void move_leaves(Layer& layer, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Rng& rng) {
  const LeafPrior& prior = problem.spec.leaf;
  const int range_moves = prior.n_range > 0 ? tempo.range_moves : 0;
  const bool in_common = prior.range.alike() && prior.n_range > 1;
  const int nugget_moves = prior.nugget.fixed() ? 0 : tempo.nugget_moves;
  if (range_moves + nugget_moves == 0 && !prior.sigma2_explicit) return;
  for (int i = 0; i < static_cast<int>(layer.leaves.size()); ++i) {
    double now = log_fit(problem, layer.leaves[i], layer.hyper);
    auto decide = [&](LeafProposal&& next, Step step) {
      const bool accepted = accept(next.ratio, tempo.anneal, rng);
      if (accepted) {
        std::swap(layer.leaves[i], next.leaf);
        now = next.log_fit;
      }
      ws.recycle(std::move(next.leaf));
      counts.steps[step].add(accepted);
      if (next.walked) tempo.adapt(layer.log_step[step], accepted);
    };
    for (int t = 0; t < range_moves; ++t)
      decide(in_common && rng.coin() ? propose_common_range(layer, problem, ws, i, now, rng)
                                     : propose_range(layer, problem, ws, i, now, rng),
             range_step);
    for (int t = 0; t < nugget_moves; ++t) decide(propose_nugget(layer, problem, ws, i, now, rng), nugget_step);
    if (!prior.sigma2_explicit) continue;
    for (int t = 0; t < tempo.sigma2_moves; ++t) decide(propose_sigma2(layer, problem, ws, i, now, rng), sigma2_step);
    if (prior.tau2_random) decide(propose_tau2(layer, problem, ws, i, now, rng), tau2_step);
  }
}

// sigma2, beta and tau2 of every leaf and what the leaves share. First what is updated with sigma2 and beta
// integrated out, then these, then what is conditioned on them.
template <class Rng>
void draw_coefficients(Layer& s, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Rng& rng) {
  const Spec& spec = problem.spec;
  scale_tau2(s, problem, tempo, counts, rng);
  ws.posts.resize(s.leaves.size());
  for (std::size_t i = 0; i < s.leaves.size(); ++i) {
    const Leaf& leaf = s.leaves[i];
    coefficient_posterior(leaf.data, leaf.params.tau2, spec.coefficients, s.hyper, ws.posts[i]);
    if (!ws.posts[i].ok) throw std::runtime_error("a leaf's coefficients have no posterior: numbers out of range");
  }
  draw_noise_hyper(s, ws.posts, spec, tempo, counts, rng);
  for (std::size_t i = 0; i < s.leaves.size(); ++i) draw_leaf(s.leaves[i], ws.posts[i], spec, s.hyper, rng);
  if (spec.coefficients == CoefficientKind::hierarchical && !(draw_beta0(s, rng) && draw_w(s, rng)))
    ++ws.failed_factorisations;
  draw_tau2_hyper(s, spec, tempo, counts, rng);
}

template <class Rng>
void move_trees(State& s, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Rng& rng) {
  if (problem.spec.split.alpha > 0)
    for (int t = 0; t < tempo.tree_moves; ++t) move_tree(s, problem, ws, tempo, counts, rng);
}

// A round of regression, or of leaves of class counts, which have nothing but their tree.
template <class Rng>
void play_round(State& s, const Problem& problem, Workspace& ws, const Tempo& tempo, Counts& counts, Rng& rng) {
  move_trees(s, problem, ws, tempo, counts, rng);
  if (problem.classes.has_counts()) return;
  move_leaves(s.layers[0], problem, ws, tempo, counts, rng);
  draw_coefficients(s.layers[0], problem, ws, tempo, counts, rng);
}

}  // namespace treedgp
