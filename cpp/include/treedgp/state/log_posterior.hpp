// The whole posterior in one place: log p(Z, tree, rules, leaf parameters, hyperparameters), with every beta and sigma2
// integrated out. In classification Z is the latents, and the labels given them join in.
#pragma once
#include "treedgp/state/softmax.hpp"

namespace treedgp {

inline double log_hyperprior(const Problem& problem, const Hyper& h) {
  if (problem.classes.has_counts()) return 0;  // counts have no hyperparameters
  const Spec& spec = problem.spec;
  double sum = spec.sigma2.log_hyperprior(h.a_sigma, h.g_sigma);
  if (spec.leaf.tau2_random) sum += spec.tau2.log_hyperprior(h.a_tau, h.g_tau);
  if (spec.coefficients == CoefficientKind::hierarchical) sum += log_coefficient_hyperprior(h);
  return sum;
}

inline double log_leaf(const Problem& problem, const Leaf& leaf, const Hyper& hyper) {
  const Spec& spec = problem.spec;
  if (problem.classes.has_counts()) return log_marginal(problem, leaf, hyper);
  return log_marginal(leaf.data, leaf.params.tau2, spec.coefficients, hyper) + spec.leaf.log_p_shape(leaf.params, hyper);
}

inline double log_posterior(const Problem& problem, const State& s) {
  double sum = log_structure(problem.spec.split, s.tree, 0) + log_rules(s.tree);
  for (const Layer& layer : s.layers) {
    for (const Leaf& leaf : layer.leaves) sum += log_leaf(problem, leaf, layer.hyper);
    sum += log_hyperprior(problem, layer.hyper);
  }
  return sum;
}

inline double log_posterior(const Problem& problem, const Trees& trees) {
  double sum = problem.data.prior_only ? 0 : log_labels(problem.classes, latents(trees));
  for (const State& s : trees) sum += log_posterior(problem, s);
  return sum;
}

}  // namespace treedgp
