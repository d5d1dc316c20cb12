// The state of a chain: a value.
#pragma once
#include <span>

#include "treedgp/leaf/counts.hpp"
#include "treedgp/state/spec.hpp"

namespace treedgp {

struct Leaf {
  RegionPtr region;  // that of its node
  LeafParams params;
  BasisPtr basis;
  Whitened data;
  Vector beta;  // (m), empty until drawn after the tree moves of a round
};

enum Step {
  range_step, nugget_step, sigma2_step, tau2_step, latent_scale_step,
  a_sigma_step, g_sigma_step, a_tau_step, g_tau_step, tau_scale_step, n_steps
};

// One function over a tree: the response in regression, the latent of a class in classification.
struct Layer {
  std::vector<Leaf> leaves;  // left to right
  Hyper hyper;
  std::array<double, n_steps> log_step{};  // random-walk scales, on the log scale of each parameter
  Response response;                       // in classification the latent f, but for the turn of its class
};

// A tree and the functions that live on it: one, but for classes that share a tree.
struct State {
  NodePtr tree;
  std::vector<Layer> layers;
};

// A whole chain: one tree, but for classes that have one each.
using Trees = std::vector<State>;

inline Leaf fit_leaf(const Problem& problem, const Layer& layer, Workspace& ws, RegionPtr region, LeafParams params) {
  Leaf leaf;
  leaf.basis = make_basis(problem.data, layer.response, region->rows, params, ws);
  leaf.data = whiten(problem.data, layer.response, region->rows, params, *leaf.basis, ws);
  leaf.region = std::move(region);
  leaf.params = std::move(params);
  return leaf;
}

// Every leaf anew, after the response has changed. K* does not depend on it.
inline void refit(Layer& layer, const Problem& problem, Workspace& ws) {
  for (Leaf& leaf : layer.leaves) {
    const auto& rows = leaf.region->rows;
    if (leaf.params.linear()) leaf.basis = make_basis(problem.data, layer.response, rows, leaf.params, ws);
    leaf.data = whiten(problem.data, layer.response, rows, leaf.params, *leaf.basis, ws);
  }
}

// What a leaf owes to the data, as the moves see it: beta is integrated out, sigma2 unless it is a parameter.
inline double log_marginal(const Problem& problem, const Leaf& leaf, const Hyper& hyper) {
  const Spec& spec = problem.spec;
  if (problem.classes.has_counts())
    return problem.data.prior_only ? 0 : log_class_counts(problem.classes.label, problem.classes.count, leaf.region->rows);
  if (spec.leaf.sigma2_explicit)
    return log_marginal_given(leaf.data, leaf.params.sigma2, leaf.params.tau2, spec.coefficients, hyper);
  return log_marginal(leaf.data, leaf.params.tau2, spec.coefficients, hyper);
}

inline double log_marginals(const Problem& problem, std::span<const Leaf> leaves, const Hyper& hyper) {
  double sum = 0;
  for (const Leaf& leaf : leaves) sum += log_marginal(problem, leaf, hyper);
  return sum;
}

inline double log_params(const Problem& problem, std::span<const Leaf> leaves, const Hyper& hyper) {
  double sum = 0;
  for (const Leaf& leaf : leaves) sum += problem.spec.leaf.log_p(leaf.params, hyper);
  return sum;
}

}  // namespace treedgp
