// Where a chain begins.
#pragma once
#include <stdexcept>

#include "treedgp/state/state.hpp"

namespace treedgp {

inline Hyper initial_hyper(const Problem& problem) {
  const Spec& spec = problem.spec;
  const int m = problem.data.m();
  Hyper h;
  h.beta0.assign(m, 0);
  h.set_w_inv(Matrix::identity(m));
  h.a_sigma = spec.sigma2.a;
  h.g_sigma = spec.sigma2.g;
  h.a_tau = spec.tau2.a;
  h.g_tau = spec.tau2.g;
  return h;
}

// Latents start at +1 for the points of their class, at -1 elsewhere.
inline Response initial_response(const Problem& problem, int label) {
  if (problem.classes.count == 0) return {problem.z, {}};
  Response response{Vector(problem.data.n), {}};
  for (int i = 0; i < problem.data.n; ++i) response.z[i] = problem.classes.label[i] == label ? 1 : -1;
  return response;
}

// A state drawn from the prior: the tree (or the root alone), every leaf's parameters, hyperparameters at their start
// values, with a layer for each class from `first_class` on. A leaf whose K does not factorise is drawn again.
template <class Rng>
State initial_state(const Problem& problem, int first_class, int n_layers, bool prior_tree, Workspace& ws, Rng& rng) {
  const Spec& spec = problem.spec;
  State s;
  const RegionPtr root = problem.partitioner.root();
  s.tree = prior_tree ? draw_tree(rng, spec.split, problem.partitioner, root) : make_leaf(root);
  for (int l = 0; l < n_layers; ++l) {
    Layer& layer = s.layers.emplace_back();
    layer.hyper = initial_hyper(problem);
    layer.response = initial_response(problem, first_class + l);
    layer.sites.resize(problem.classes.n_latents() ? problem.data.n : 0);
    for (const Position& p : leaves(s.tree)) {
      Leaf leaf;
      int attempts = 0;
      do {
        if (++attempts > 1000) throw std::runtime_error("no draw from the prior gives a positive definite correlation");
        leaf = fit_leaf(problem, layer, ws, p.node->region, spec.leaf.draw(rng, layer.hyper));
      } while (!std::isfinite(log_marginal(problem, leaf, layer.hyper) + spec.leaf.log_p(leaf.params, layer.hyper)));
      layer.leaves.push_back(std::move(leaf));
    }
  }
  return s;
}

template <class Rng>
Trees initial_trees(const Problem& problem, bool prior_tree, Workspace& ws, Rng& rng) {
  const int latents = problem.classes.n_latents();
  if (latents == 0 || problem.classes.shared_tree) {
    Trees one;
    one.push_back(initial_state(problem, 0, std::max(1, latents), prior_tree, ws, rng));
    return one;
  }
  Trees trees;
  for (int m = 0; m < latents; ++m) trees.push_back(initial_state(problem, m, 1, prior_tree, ws, rng));
  return trees;
}

}  // namespace treedgp
