// ROTATE: an internal node rises over a parent that splits on the same numeric column, as in a binary search
// tree. The leaves keep their rows; depths and the rows of the two nodes change. Reverse: ROTATE of the sunken
// parent.
#pragma once
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

template <class Rng>
std::optional<Proposal> propose_rotate(const State& s, const Problem& problem, Workspace& ws, Rng& rng) {
  const auto candidates = internal_below_root(s.tree);
  if (candidates.empty()) return std::nullopt;
  const Position lower = candidates[rng.pick(static_cast<int>(candidates.size()))];
  const Position upper = parent(s.tree, lower);
  const Node &child = *lower.node, &top = *upper.node;
  if (child.rule.column != top.rule.column || problem.partitioner.column(top.rule.column).categorical)
    return std::nullopt;

  // Regions of the shape are placeholders: reapply() makes them anew.
  const bool is_left = lower.node == top.left;
  const NodePtr shape =
      is_left ? make_internal(top.region, child.rule, child.left,
                              make_internal(top.region, top.rule, child.right, top.right))
              : make_internal(top.region, child.rule, make_internal(top.region, top.rule, top.left, child.left),
                              child.right);
  auto next = rebuild_subtree(s, problem, ws, upper, shape);
  if (!next) return std::nullopt;
  next->ratio.q_forward = log_one_of(candidates.size());
  next->ratio.q_reverse = log_one_of(internal_below_root(next->tree).size());
  return next;
}

}  // namespace treedgp
