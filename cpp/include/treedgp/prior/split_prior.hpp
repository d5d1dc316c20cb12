// The tree prior, generative: a node at depth D splits with probability alpha (1+D)^-beta if it has an
// admissible rule, else never; the rule is a column uniform over those with an admissible rule, a
// partition uniform over the admissible ones of that column, and a cut uniform over the cuts that make it.
#pragma once
#include <cmath>

#include "treedgp/tree/queries.hpp"

namespace treedgp {

struct SplitPrior {
  double alpha = 0.5, beta = 2;
  int max_depth = depth_limit;

  double p_split(const Region& region, int depth) const {
    return region.splittable() && depth < max_depth ? alpha * std::pow(1.0 + depth, -beta) : 0;
  }
  double log_split(const Region& region, int depth) const { return std::log(p_split(region, depth)); }
  double log_stop(const Region& region, int depth) const { return std::log1p(-p_split(region, depth)); }
};

// log p(splits and stops) of every node of a subtree whose root has this depth.
inline double log_structure(const SplitPrior& prior, const NodePtr& node, int depth) {
  if (node->is_leaf()) return prior.log_stop(*node->region, depth);
  return prior.log_split(*node->region, depth) + log_structure(prior, node->left, depth + 1) +
         log_structure(prior, node->right, depth + 1);
}

inline double log_rule(const Region& region, const Rule& rule) {
  const ColumnMenu& menu = *region.menu_of(rule.column);
  const Option& option = menu.options[menu.find(rule.cut)];
  return -std::log(region.menu.size()) - std::log(menu.options.size()) - std::log(option.count);
}

// log p(rules) of every internal node of a subtree.
inline double log_rules(const NodePtr& node) {
  if (node->is_leaf()) return 0;
  return log_rule(*node->region, node->rule) + log_rules(node->left) + log_rules(node->right);
}

template <class Rng>
Rule draw_rule(Rng& rng, const Region& region) {
  const ColumnMenu& menu = region.menu[rng.pick(static_cast<int>(region.menu.size()))];
  const Option& option = menu.options[rng.pick(static_cast<int>(menu.options.size()))];
  return {menu.column, option.first + rng.pick(option.count)};
}

// Leaves that the prior allows to split.
inline std::vector<Position> growable(const NodePtr& root, const SplitPrior& prior) {
  return select(root, [&](const Position& p) {
    return p.node->is_leaf() && prior.p_split(*p.node->region, p.depth) > 0;
  });
}

template <class Rng>
NodePtr draw_tree(Rng& rng, const SplitPrior& prior, const Partitioner& partitioner, const RegionPtr& region,
                  int depth = 0) {
  if (!rng.bernoulli(prior.p_split(*region, depth))) return make_leaf(region);
  const Rule rule = draw_rule(rng, *region);
  const auto [left, right] = partitioner.divide(*region, rule);
  NodePtr left_node = draw_tree(rng, prior, partitioner, left, depth + 1);
  return make_internal(region, rule, left_node, draw_tree(rng, prior, partitioner, right, depth + 1));
}

}  // namespace treedgp
