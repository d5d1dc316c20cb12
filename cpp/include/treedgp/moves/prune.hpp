// PRUNE: two sibling leaves become one, which in each layer takes the whole parameter vector of one of them; the
// other's is dropped. Reverse: GROW of that leaf in the pruned tree, with the dropped vectors drawn afresh.
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

  std::vector<std::vector<Leaf>> merged;
  double log_q_forward = 0, log_q_reverse = 0;
  for (const Layer& layer : s.layers) {
    const bool keep_left = rng.coin();
    const LeafParams& kept = layer.leaves[node.first_leaf + (keep_left ? 0 : 1)].params;
    const LeafParams& dropped = layer.leaves[node.first_leaf + (keep_left ? 1 : 0)].params;
    merged.emplace_back().push_back(fit_leaf(problem, layer, ws, region, kept));
    log_q_forward += log_half;
    log_q_reverse += log_half + spec.leaf.log_sibling(dropped, layer.hyper, kept);
  }

  Proposal next = replace_subtree(s, problem, node, make_leaf(region), std::move(merged));
  next.ratio.q_forward = spec.schedule.log_weight(TreeMove::prune) + log_one_of(candidates.size()) + log_q_forward;
  next.ratio.q_reverse = spec.schedule.log_weight(TreeMove::grow) + log_one_of(growable(next.tree, spec.split).size()) +
                         log_propose_rule(*region, node.node->rule) + log_q_reverse;
  return next;
}

}  // namespace treedgp
