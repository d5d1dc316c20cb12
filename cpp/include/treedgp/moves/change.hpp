// CHANGE: an internal node gets a new rule; the rules below are re-applied as they stand.
// Reverse: CHANGE of the same node back.
#pragma once
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

template <class Rng>
std::optional<Proposal> propose_change(const State& s, const Problem& problem, Workspace& ws, Rng& rng) {
  const auto candidates = internal_nodes(s.tree);
  if (candidates.empty()) return std::nullopt;
  const Position node = candidates[rng.pick(static_cast<int>(candidates.size()))];
  const Region& region = *node.node->region;
  const Rule rule = propose_rule(region, rng);
  if (rule == node.node->rule) return std::nullopt;

  const NodePtr shape = make_internal(node.node->region, rule, node.node->left, node.node->right);
  auto next = rebuild_subtree(s, problem, ws, node, shape);
  if (!next) return std::nullopt;
  next->ratio.q_forward = log_one_of(candidates.size()) + log_propose_rule(region, rule);
  next->ratio.q_reverse = log_one_of(internal_nodes(next->tree).size()) + log_propose_rule(region, node.node->rule);
  return next;
}

}  // namespace treedgp
