// The Metropolis-Hastings-Green ratio, in named terms, and the one place that decides.
#pragma once
#include <cmath>
#include <optional>
#include <stdexcept>

#include "treedgp/state/state.hpp"

namespace treedgp {

struct LogRatio {
  double likelihood = 0, tree_prior = 0, rule_prior = 0, params_prior = 0;  // of the target: next less now
  double q_forward = 0, q_reverse = 0;                                      // log proposal probabilities
  double log_jacobian = 0;

  double total(double anneal) const {
    return anneal * likelihood + tree_prior + rule_prior + params_prior + q_reverse - q_forward + log_jacobian;
  }
};

// A NaN ratio compares false: rejected.
template <class Rng>
bool accept(const LogRatio& ratio, double anneal, Rng& rng) {
  return std::log(rng.uniform()) < ratio.total(anneal);
}

// The next state, as what it changes: the tree, and leaves first .. first + removed - 1.
// A move that does not apply proposes nothing.
struct Proposal {
  NodePtr tree;
  int first, removed;
  std::vector<std::vector<Leaf>> leaves;  // by layer
  LogRatio ratio;
};

inline void commit(State& s, Proposal&& p) {
  s.tree = std::move(p.tree);
  for (std::size_t l = 0; l < s.layers.size(); ++l) {
    std::vector<Leaf>&leaves = s.layers[l].leaves, &next = p.leaves[l];
    const auto at = leaves.begin() + p.first;
    if (p.removed == static_cast<int>(next.size())) {
      std::move(next.begin(), next.end(), at);
      continue;
    }
    const auto gap = leaves.erase(at, at + p.removed);
    leaves.insert(gap, std::make_move_iterator(next.begin()), std::make_move_iterator(next.end()));
  }
}

inline std::span<const Leaf> leaves_below(const Layer& layer, const Position& where) {
  return {layer.leaves.data() + where.first_leaf, static_cast<std::size_t>(where.node->n_leaves)};
}

// The proposal that puts `subtree` with `leaves` at `where`, with the target's terms of its ratio. The
// structure and rules of every node below count: they depend on the rows the node now holds.
inline Proposal replace_subtree(const State& s, const Problem& problem, const Position& where,
                                const NodePtr& subtree, std::vector<std::vector<Leaf>> leaves) {
  const SplitPrior& split = problem.spec.split;
  LogRatio ratio{
      .tree_prior = log_structure(split, subtree, where.depth) - log_structure(split, where.node, where.depth),
      .rule_prior = log_rules(subtree) - log_rules(where.node)};
  for (std::size_t l = 0; l < leaves.size(); ++l) {
    const Hyper& hyper = s.layers[l].hyper;
    const auto old = leaves_below(s.layers[l], where);
    ratio.likelihood += log_marginals(problem, leaves[l], hyper) - log_marginals(problem, old, hyper);
    ratio.params_prior += log_params(problem, leaves[l], hyper) - log_params(problem, old, hyper);
  }
  return {graft(s.tree, where, subtree), where.first_leaf, where.node->n_leaves, std::move(leaves), ratio};
}

// The old leaves' parameters, position by position, on the rows of the new subtree's leaves.
inline std::vector<Leaf> refit_leaves(const Layer& layer, const Problem& problem, Workspace& ws, const Position& where,
                                      const NodePtr& subtree) {
  std::vector<Leaf> next;
  for (const Position& p : treedgp::leaves(subtree)) {
    const Leaf& old = layer.leaves[where.first_leaf + next.size()];
    const RegionPtr& region = p.node->region;
    const bool same_rows = region->rows == old.region->rows;
    next.push_back(same_rows ? old : fit_leaf(problem, layer, ws, region, old.params));
    next.back().region = region;
  }
  return next;
}

// The proposal that re-applies the rules of `shape` to the rows at `where`; none if one is inadmissible there.
inline std::optional<Proposal> rebuild_subtree(const State& s, const Problem& problem, Workspace& ws,
                                               const Position& where, const NodePtr& shape) {
  const NodePtr subtree = reapply(problem.partitioner, shape, where.node->region);
  if (!subtree) return std::nullopt;
  std::vector<std::vector<Leaf>> leaves;
  for (const Layer& layer : s.layers) leaves.push_back(refit_leaves(layer, problem, ws, where, subtree));
  return replace_subtree(s, problem, where, subtree, std::move(leaves));
}

// log(1/n): one of n, uniformly.
inline double log_one_of(std::size_t n) { return -std::log(static_cast<double>(n)); }

const double log_half = std::log(0.5);

// A rule for a node, from its prior unless options have weights.
template <class Rng>
Rule propose_rule(const Region& region, Rng& rng) {
  if (!region.weighed) return draw_rule(rng, region);
  Vector weights;
  for (const ColumnMenu& menu : region.menu)
    for (const Option& option : menu.options) weights.push_back(option.weight);
  int left = rng.pick_weighted(weights);
  for (const ColumnMenu& menu : region.menu) {
    const int size = static_cast<int>(menu.options.size());
    if (left < size) return {menu.column, menu.options[left].first + rng.pick(menu.options[left].count)};
    left -= size;
  }
  throw std::logic_error("a rule was picked that is not there");
}

inline double log_propose_rule(const Region& region, const Rule& rule) {
  if (!region.weighed) return log_rule(region, rule);
  const ColumnMenu& menu = *region.menu_of(rule.column);
  const Option& option = menu.options[menu.find(rule.cut)];
  return std::log(option.weight / option.count);
}

}  // namespace treedgp
