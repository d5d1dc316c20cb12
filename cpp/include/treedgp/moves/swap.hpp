// SWAP: an internal node and its parent exchange rules, if they split on different columns or on the same
// categorical one. Reverse: SWAP at the same position.
#pragma once
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

template <class Rng>
std::optional<Proposal> propose_swap(const State& s, const Problem& problem, Workspace& ws, Rng& rng) {
  const auto candidates = internal_below_root(s.tree);
  if (candidates.empty()) return std::nullopt;
  const Position lower = candidates[rng.pick(static_cast<int>(candidates.size()))];
  const Position upper = parent(s.tree, lower);
  const Node &child = *lower.node, &top = *upper.node;
  if (child.rule.column == top.rule.column && !problem.partitioner.column(top.rule.column).categorical)
    return std::nullopt;

  const NodePtr moved = make_internal(child.region, top.rule, child.left, child.right);
  const bool is_left = lower.node == top.left;
  const NodePtr shape = is_left ? make_internal(top.region, child.rule, moved, top.right)
                                : make_internal(top.region, child.rule, top.left, moved);
  auto next = rebuild_subtree(s, problem, ws, upper, shape);
  if (!next) return std::nullopt;
  next->ratio.q_forward = log_one_of(candidates.size());
  next->ratio.q_reverse = log_one_of(internal_below_root(next->tree).size());
  return next;
}

}  // namespace treedgp
