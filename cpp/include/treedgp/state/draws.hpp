// Kept states as flat arrays: what is saved, passed to and from Python, and predicted from.
#pragma once
#include <cstdint>
#include <stdexcept>

#include "treedgp/state/state.hpp"

namespace treedgp {

// D draws of a layer and its tree, with N nodes and L leaves in all, seen but not owned. The nodes of a draw are in preorder, its
// leaves left to right.
struct DrawsView {
  std::int64_t n_draws = 0;
  int n_range = 0, m = 0, n = 0;
  const std::int64_t* node_start = nullptr;                                    // (D + 1)
  const std::int32_t *column = nullptr, *cut = nullptr;                        // (N) the rule; -1 in a leaf
  const double* range = nullptr;                                               // (L, n_range)
  const std::uint8_t* gp = nullptr;                                            // (L, n_range) the booleans b
  const double *nugget = nullptr, *sigma2 = nullptr, *tau2 = nullptr;          // (L)
  const double* beta = nullptr;                                                // (L, m)
  const double* beta0 = nullptr;                                               // (D, m)
  const double* w_inv = nullptr;                                               // (D, m (m+1) / 2) lower, by column
  const double* hyper = nullptr;                                               // (D, 4) a_sigma g_sigma a_tau g_tau
  const double* latent = nullptr;                                              // (D, n); null in regression

  // A binary tree of k leaves has 2k - 1 nodes.
  std::int64_t first_leaf(std::int64_t draw) const { return (node_start[draw] + draw) / 2; }

  LeafParams params(std::int64_t leaf) const {
    LeafParams p;
    p.d.assign(range + leaf * n_range, range + (leaf + 1) * n_range);
    p.b.assign(gp + leaf * n_range, gp + (leaf + 1) * n_range);
    p.g = nugget[leaf];
    p.tau2 = tau2[leaf];
    p.sigma2 = sigma2[leaf];
    return p;
  }

  // What the leaves of a draw were fitted to.
  Response response_of(std::int64_t draw, const Problem& problem) const {
    return {latent ? Vector(latent + draw * n, latent + (draw + 1) * n) : problem.z, {}};
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
  std::vector<double> nugget, sigma2, tau2, beta, beta0, w_inv, hyper, latent, log_posterior;

  void append(const NodePtr& tree, const Layer& layer, bool has_latent, double log_posterior_value) {
    visit_preorder(Position{tree}, [&](const Position& p) {
      column.push_back(p.node->is_leaf() ? -1 : p.node->rule.column);
      cut.push_back(p.node->is_leaf() ? -1 : p.node->rule.cut);
    });
    node_start.push_back(static_cast<std::int64_t>(column.size()));
    const Hyper& h = layer.hyper;
    for (const Leaf& leaf : layer.leaves) {
      range.insert(range.end(), leaf.params.d.begin(), leaf.params.d.end());
      gp.insert(gp.end(), leaf.params.b.begin(), leaf.params.b.end());
      nugget.push_back(leaf.params.g);
      sigma2.push_back(leaf.params.sigma2);
      tau2.push_back(leaf.params.tau2);
      beta.insert(beta.end(), leaf.beta.begin(), leaf.beta.end());
      beta.resize(beta.size() + h.beta0.size() - leaf.beta.size());  // not drawn yet
    }
    beta0.insert(beta0.end(), h.beta0.begin(), h.beta0.end());
    for (int j = 0; j < h.w_inv.cols; ++j)
      for (int i = j; i < h.w_inv.rows; ++i) w_inv.push_back(h.w_inv(i, j));
    hyper.insert(hyper.end(), {h.a_sigma, h.g_sigma, h.a_tau, h.g_tau});
    if (has_latent) latent.insert(latent.end(), layer.response.z.begin(), layer.response.z.end());
    log_posterior.push_back(log_posterior_value);
  }
};

// A Draws for each layer of a chain, each with its tree.
inline void append(std::vector<Draws>& kept, const Trees& trees, const Problem& problem, double log_posterior_value) {
  std::size_t at = 0;
  for (const State& s : trees)
    for (const Layer& layer : s.layers) {
      if (at == kept.size()) kept.emplace_back();
      kept[at++].append(s.tree, layer, problem.classes.n_latents() > 0, log_posterior_value);
    }
}

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

// The layer of a draw, on the tree of the draw.
inline Layer restore_layer(const Problem& problem, const NodePtr& tree, const DrawsView& draws, std::int64_t draw,
                           Workspace& ws) {
  Layer layer;
  layer.hyper = draws.hyper_of(draw);
  layer.response = draws.response_of(draw, problem);
  std::int64_t leaf = draws.first_leaf(draw);
  for (const Position& p : leaves(tree)) {
    layer.leaves.push_back(fit_leaf(problem, layer, ws, p.node->region, draws.params(leaf)));
    layer.leaves.back().beta.assign(draws.beta + leaf * draws.m, draws.beta + (leaf + 1) * draws.m);
    ++leaf;
  }
  return layer;
}

inline NodePtr restore_tree(const Problem& problem, const DrawsView& draws, std::int64_t draw) {
  std::int64_t node = draws.node_start[draw];
  NodePtr tree = restore_tree(problem.partitioner, draws, node, draws.node_start[draw + 1], problem.partitioner.root());
  if (node != draws.node_start[draw + 1]) throw std::invalid_argument("draws: nodes left over after a tree");
  return tree;
}

inline bool same_tree(const DrawsView& a, const DrawsView& b, std::int64_t draw) {
  const std::int64_t size = a.node_start[draw + 1] - a.node_start[draw];
  if (b.node_start[draw + 1] - b.node_start[draw] != size) return false;
  for (std::int64_t i = 0; i < size; ++i) {
    const std::int64_t at = a.node_start[draw] + i, other = b.node_start[draw] + i;
    if (a.column[at] != b.column[other] || a.cut[at] != b.cut[other]) return false;
  }
  return true;
}

// A chain from one draw of each of its layers.
inline Trees restore_trees(const Problem& problem, const std::vector<DrawsView>& layers, std::int64_t draw,
                           Workspace& ws) {
  Trees trees;
  for (const DrawsView& view : layers) {
    if (trees.empty() || !problem.classes.shared_tree)
      trees.push_back({restore_tree(problem, view, draw), {}});
    else if (!same_tree(layers[0], view, draw))
      throw std::invalid_argument("draws: classes that share a tree must have the same one");
    State& s = trees.back();
    s.layers.push_back(restore_layer(problem, s.tree, view, draw, ws));
  }
  return trees;
}

}  // namespace treedgp
