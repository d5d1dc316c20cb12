// GROW: a leaf becomes two. In each layer one child inherits the leaf's whole parameter vector, the other draws its
// own: from the prior or near the leaf's. Reverse: PRUNE of that node in the grown tree.
#pragma once
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

template <class Rng>
std::optional<Proposal> propose_grow(const State& s, const Problem& problem, Workspace& ws, Rng& rng) {
  const Spec& spec = problem.spec;
  const auto candidates = growable(s.tree, spec.split);
  if (candidates.empty()) return std::nullopt;
  const Position leaf = candidates[rng.pick(static_cast<int>(candidates.size()))];
  const RegionPtr& region = leaf.node->region;
  const Rule rule = propose_rule(*region, rng);
  const auto [left, right] = problem.partitioner.divide(*region, rule);

  std::vector<std::vector<Leaf>> children;
  double log_q_forward = 0, log_q_reverse = 0;
  for (const Layer& layer : s.layers) {
    const LeafParams& inherited = layer.leaves[leaf.first_leaf].params;
    const LeafParams fresh = spec.leaf.draw_sibling(rng, layer.hyper, inherited);
    const bool left_inherits = rng.coin();
    auto& pair = children.emplace_back();
    pair.push_back(fit_leaf(problem, layer, ws, left, left_inherits ? inherited : fresh));
    pair.push_back(fit_leaf(problem, layer, ws, right, left_inherits ? fresh : inherited));
    log_q_forward += log_half + spec.leaf.log_sibling(fresh, layer.hyper, inherited);
    log_q_reverse += log_half;
  }
  const NodePtr grown = make_internal(region, rule, make_leaf(left), make_leaf(right));

  Proposal next = replace_subtree(s, problem, leaf, grown, std::move(children));
  next.ratio.q_forward = spec.schedule.log_weight(TreeMove::grow) + log_one_of(candidates.size()) + log_propose_rule(*region, rule) +
                         log_q_forward;
  next.ratio.q_reverse = spec.schedule.log_weight(TreeMove::prune) + log_one_of(prunable(next.tree).size()) + log_q_reverse;
  return next;
}

}  // namespace treedgp
