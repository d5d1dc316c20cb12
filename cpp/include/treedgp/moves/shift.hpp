// SHIFT: a numeric rule steps to the neighbouring admissible partition of its node, up or down, and the cut
// is drawn uniformly among those that make it. Reverse: SHIFT of the same node the other way.
#pragma once
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

template <class Rng>
std::optional<Proposal> propose_shift(const State& s, const Problem& problem, Workspace& ws, Rng& rng) {
  const auto candidates = internal_nodes(s.tree);
  if (candidates.empty()) return std::nullopt;
  const Position node = candidates[rng.pick(static_cast<int>(candidates.size()))];
  const Rule now = node.node->rule;
  if (problem.partitioner.column(now.column).categorical) return std::nullopt;
  const auto& options = node.node->region->menu_of(now.column)->options;
  const int from = node.node->region->menu_of(now.column)->find(now.cut);
  const int to = rng.coin() ? from + 1 : from - 1;
  if (to < 0 || to >= static_cast<int>(options.size())) return std::nullopt;
  const Rule rule{now.column, options[to].first + rng.pick(options[to].count)};

  const NodePtr shape = make_internal(node.node->region, rule, node.node->left, node.node->right);
  auto next = rebuild_subtree(s, problem, ws, node, shape);
  if (!next) return std::nullopt;
  next->ratio.q_forward = log_one_of(candidates.size()) + log_half + log_one_of(options[to].count);
  next->ratio.q_reverse = log_one_of(internal_nodes(next->tree).size()) + log_half + log_one_of(options[from].count);
  return next;
}

}  // namespace treedgp
