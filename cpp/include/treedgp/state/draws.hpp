// Kept states as flat arrays: what is saved, passed to and from Python, and predicted from.
#pragma once
#include <cstdint>
#include <stdexcept>

#include "treedgp/state/state.hpp"

namespace treedgp {

// D draws with N nodes and L leaves in all, seen but not owned. The nodes of a draw are in preorder, its
// leaves left to right.
struct DrawsView {
  std::int64_t n_draws = 0;
  int n_range = 0, m = 0;
  const std::int64_t* node_start = nullptr;                                    // (D + 1)
  const std::int32_t *column = nullptr, *cut = nullptr;                        // (N) the rule; -1 in a leaf
  const double* range = nullptr;                                               // (L, n_range)
  const std::uint8_t* gp = nullptr;                                            // (L, n_range) the booleans b
  const double *nugget = nullptr, *sigma2 = nullptr, *tau2 = nullptr;          // (L)
  const double* beta = nullptr;                                                // (L, m)
  const double* beta0 = nullptr;                                               // (D, m)
  const double* w_inv = nullptr;                                               // (D, m (m+1) / 2) lower, by column
  const double* hyper = nullptr;                                               // (D, 4) a_sigma g_sigma a_tau g_tau

  // A binary tree of k leaves has 2k - 1 nodes.
  std::int64_t first_leaf(std::int64_t draw) const { return (node_start[draw] + draw) / 2; }

  LeafParams params(std::int64_t leaf) const {
    LeafParams p;
    p.d.assign(range + leaf * n_range, range + (leaf + 1) * n_range);
    p.b.assign(gp + leaf * n_range, gp + (leaf + 1) * n_range);
    p.g = nugget[leaf];
    p.tau2 = tau2[leaf];
    return p;
  }

  Hyper hyper_of(std::int64_t draw) const {
    Hyper h;
    h.beta0.assign(beta0 + draw * m, beta0 + (draw + 1) * m);
    Matrix w(m, m);
    const double* from = w_inv + draw * (m * (m + 1) / 2);
    for (int j = 0; j < m; ++j)
      for (int i = j; i < m; ++i) w(i, j) = w(j, i) = *from++;
    if (!h.set_w_inv(std::move(w))) throw std::invalid_argument("draws: 'w_inv' must be positive definite");
    h.a_sigma = hyper[4 * draw];
    h.g_sigma = hyper[4 * draw + 1];
    h.a_tau = hyper[4 * draw + 2];
    h.g_tau = hyper[4 * draw + 3];
    return h;
  }
};

// The same, owned and growing.
struct Draws {
  std::vector<std::int64_t> node_start{0};
  std::vector<std::int32_t> column, cut;
  std::vector<double> range;
  std::vector<std::uint8_t> gp;
  std::vector<double> nugget, sigma2, tau2, beta, beta0, w_inv, hyper, log_posterior;

  void append(const State& s, double log_posterior_value) {
    visit_preorder(Position{s.tree}, [&](const Position& p) {
      column.push_back(p.node->is_leaf() ? -1 : p.node->rule.column);
      cut.push_back(p.node->is_leaf() ? -1 : p.node->rule.cut);
    });
    node_start.push_back(static_cast<std::int64_t>(column.size()));
    const Hyper& h = s.hyper;
    for (const Leaf& leaf : s.leaves) {
      range.insert(range.end(), leaf.params.d.begin(), leaf.params.d.end());
      gp.insert(gp.end(), leaf.params.b.begin(), leaf.params.b.end());
      nugget.push_back(leaf.params.g);
      sigma2.push_back(leaf.sigma2);
      tau2.push_back(leaf.params.tau2);
      beta.insert(beta.end(), leaf.beta.begin(), leaf.beta.end());
      beta.resize(beta.size() + h.beta0.size() - leaf.beta.size());  // not drawn yet
    }
    beta0.insert(beta0.end(), h.beta0.begin(), h.beta0.end());
    for (int j = 0; j < h.w_inv.cols; ++j)
      for (int i = j; i < h.w_inv.rows; ++i) w_inv.push_back(h.w_inv(i, j));
    hyper.insert(hyper.end(), {h.a_sigma, h.g_sigma, h.a_tau, h.g_tau});
    log_posterior.push_back(log_posterior_value);
  }
};

// The subtree that starts at `node`, which is moved past it.
inline NodePtr restore_tree(const Partitioner& partitioner, const DrawsView& draws, std::int64_t& node,
                            std::int64_t end, const RegionPtr& region, int depth = 0) {
  if (node >= end || depth > depth_limit) throw std::invalid_argument("draws: a tree's nodes are not a preorder list");
  const Rule rule{draws.column[node], draws.cut[node]};
  ++node;
  if (rule.column < 0) return make_leaf(region);
  if (!region->admits(rule)) throw std::invalid_argument("draws: a tree has a rule that its node does not admit");
  const auto [left_region, right_region] = partitioner.divide(*region, rule);
  NodePtr left = restore_tree(partitioner, draws, node, end, left_region, depth + 1);
  NodePtr right = restore_tree(partitioner, draws, node, end, right_region, depth + 1);
  return make_internal(region, rule, std::move(left), std::move(right));
}

inline State restore_state(const Problem& problem, const DrawsView& draws, std::int64_t draw, Workspace& ws) {
  State s;
  std::int64_t node = draws.node_start[draw];
  s.tree = restore_tree(problem.partitioner, draws, node, draws.node_start[draw + 1], problem.partitioner.root());
  if (node != draws.node_start[draw + 1]) throw std::invalid_argument("draws: nodes left over after a tree");
  s.hyper = draws.hyper_of(draw);
  std::int64_t leaf = draws.first_leaf(draw);
  for (const Position& p : leaves(s.tree)) {
    s.leaves.push_back(fit_leaf(problem, ws, p.node->region, draws.params(leaf)));
    s.leaves.back().sigma2 = draws.sigma2[leaf];
    s.leaves.back().beta.assign(draws.beta + leaf * draws.m, draws.beta + (leaf + 1) * draws.m);
    ++leaf;
  }
  return s;
}

}  // namespace treedgp
