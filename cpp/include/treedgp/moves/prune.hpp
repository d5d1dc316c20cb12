// PRUNE: two sibling leaves become one, which takes the whole parameter vector of one of them; the other's
// is dropped. Reverse: GROW of that leaf in the pruned tree, with the dropped vector drawn afresh.
#pragma once
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

template <class Rng>
std::optional<Proposal> propose_prune(const State& s, const Problem& problem, Workspace& ws, Rng& rng) {
  const Spec& spec = problem.spec;
  const auto candidates = prunable(s.tree);
  if (candidates.empty()) return std::nullopt;
  const Position node = candidates[rng.pick(static_cast<int>(candidates.size()))];
  const RegionPtr& region = node.node->region;
  const bool keep_left = rng.coin();
  const LeafParams& kept = s.leaves[node.first_leaf + (keep_left ? 0 : 1)].params;
  const LeafParams& dropped = s.leaves[node.first_leaf + (keep_left ? 1 : 0)].params;

  Proposal next = replace_subtree(s, problem, node, make_leaf(region), {fit_leaf(problem, ws, region, kept)});
  next.ratio.q_forward = spec.schedule.log_weight(TreeMove::prune) + log_one_of(candidates.size()) + log_half;
  next.ratio.q_reverse = spec.schedule.log_weight(TreeMove::grow) + log_one_of(growable(next.tree, spec.split).size()) +
                         log_rule(*region, node.node->rule) + log_half + spec.leaf.log_p(dropped, s.hyper);
  return next;
}

}  // namespace treedgp
