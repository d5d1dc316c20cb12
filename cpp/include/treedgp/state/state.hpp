// The state of a chain: a value.
#pragma once
#include <span>

#include "treedgp/state/spec.hpp"

namespace treedgp {

struct Leaf {
  RegionPtr region;  // that of its node
  LeafParams params;
  BasisPtr basis;
  Whitened data;
  // Drawn after the tree moves of a round; undefined in a leaf that a move has just made.
  double sigma2 = 1;
  Vector beta;  // (m), empty until drawn
};

enum Step { range_step, nugget_step, a_sigma_step, g_sigma_step, a_tau_step, g_tau_step, tau_scale_step, n_steps };

struct State {
  NodePtr tree;
  std::vector<Leaf> leaves;  // left to right
  Hyper hyper;
  std::array<double, n_steps> log_step{};  // random-walk scales, on the log scale of each parameter
};

inline Leaf fit_leaf(const Problem& problem, Workspace& ws, RegionPtr region, LeafParams params) {
  Leaf leaf;
  leaf.basis = make_basis(problem.data, region->rows, params, ws);
  leaf.data = whiten(problem.data, region->rows, params, *leaf.basis, ws);
  leaf.region = std::move(region);
  leaf.params = std::move(params);
  return leaf;
}

inline double log_marginal(const Problem& problem, const Leaf& leaf, const Hyper& hyper) {
  return log_marginal(leaf.data, leaf.params.tau2, problem.spec.coefficients, hyper);
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
