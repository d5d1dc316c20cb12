// The state of a chain: a value.
#pragma once
#include <span>
#include <stdexcept>

#include "treedgp/leaf/counts.hpp"
#include "treedgp/state/spec.hpp"

namespace treedgp {

constexpr const char* no_factor = "the correlation matrix of a leaf does not factorise";

using FactorPtr = std::shared_ptr<kernel::Buffer>;

struct Leaf {
  RegionPtr region;  // that of its node
  LeafParams params;
  BasisPtr basis;
  Whitened data;
  FactorPtr factor;  // of a GP leaf's K where the data have noise of their own: the draw of its latent needs it too
  Vector beta;  // (m), empty until drawn after the tree moves of a round
};

// Scratch memory of one chain.
struct Workspace : KernelWorkspace {
  Leaf spare;                               // as spare_basis
  FactorPtr spare_factor;                   // likewise
  std::vector<CoefficientPosterior> posts;  // by leaf

  void recycle(Leaf&& dropped) {
    if (dropped.basis.use_count() == 1) spare_basis = std::const_pointer_cast<Basis>(std::move(dropped.basis));
    recycle(dropped.factor);
    spare = std::move(dropped);
    spare.beta.clear();
  }
  void recycle(FactorPtr& dropped) {
    if (dropped.use_count() == 1) spare_factor = std::move(dropped);
    dropped = nullptr;
  }
  // The factor that whiten() has left behind.
  void keep_factor(FactorPtr& to) {
    recycle(to);
    to = spare_factor ? std::exchange(spare_factor, nullptr) : std::make_shared<kernel::Buffer>();
    std::swap(*to, factor);
  }
};

enum Step {
  range_step, nugget_step, sigma2_step, tau2_step, latent_scale_step,
  a_sigma_step, g_sigma_step, a_tau_step, g_tau_step, tau_scale_step, n_steps
};

// A normal density of a latent, in natural parameters (sites.hpp). It begins as good as flat.
struct Site {
  double precision = 1e-4, shift = 0;
};
using Sites = std::vector<Site>;

// One function over a tree: the response in regression, the latent of a class in classification.
struct Layer {
  std::vector<Leaf> leaves;  // left to right
  Hyper hyper;
  std::array<double, n_steps> log_step{};  // random-walk scales, on the log scale of each parameter
  Sites sites;                             // (n) in classification with latents
  Response response;                       // in classification the latent f, but for the turn of its class
};

// A tree and the functions that live on it: one, but for classes that share a tree.
struct State {
  NodePtr tree;
  std::vector<Layer> layers;
};

// A whole chain: one tree, but for classes that have one each.
using Trees = std::vector<State>;

// What follows from a leaf's region and parameters.
inline void fit_basis(Leaf& leaf, const Problem& problem, const Layer& layer, Workspace& ws) {
  leaf.basis = make_basis(problem.data, layer.response, leaf.region->rows, leaf.params, ws);
}
inline void fit_data(Leaf& leaf, const Problem& problem, const Layer& layer, Workspace& ws) {
  whiten(problem.data, layer.response, leaf.region->rows, leaf.params, *leaf.basis, ws, leaf.data);
  if (!layer.response.noise.empty() && !leaf.params.linear()) ws.keep_factor(leaf.factor);
}

inline Leaf fit_leaf(const Problem& problem, const Layer& layer, Workspace& ws, RegionPtr region, LeafParams params) {
  Leaf leaf;
  leaf.region = std::move(region);
  leaf.params = std::move(params);
  fit_basis(leaf, problem, layer, ws);
  fit_data(leaf, problem, layer, ws);
  return leaf;
}

// Every leaf anew, after the response has changed. K* does not depend on it.
inline void refit(Layer& layer, const Problem& problem, Workspace& ws) {
  for (Leaf& leaf : layer.leaves) {
    if (leaf.params.linear()) fit_basis(leaf, problem, layer, ws);
    fit_data(leaf, problem, layer, ws);
    if (std::isnan(leaf.data.log_det)) throw std::runtime_error(no_factor);
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

// The same up to a constant of the leaf's rows: what moves within a leaf need.
inline double log_fit(const Problem& problem, const Leaf& leaf, const Hyper& hyper) {
  const Spec& spec = problem.spec;
  if (spec.leaf.sigma2_explicit) return log_marginal(problem, leaf, hyper);
  return log_fit(leaf.data, leaf.params.tau2, spec.coefficients, hyper);
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
