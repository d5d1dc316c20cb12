// The whole posterior in one place: log p(Z, tree, rules, leaf parameters, hyperparameters), with every
// beta and sigma2 integrated out.
#pragma once
#include "treedgp/state/state.hpp"

namespace treedgp {

inline double log_hyperprior(const Spec& spec, const Hyper& h) {
  double sum = spec.sigma2.log_hyperprior(h.a_sigma, h.g_sigma);
  if (spec.leaf.tau2_random) sum += spec.tau2.log_hyperprior(h.a_tau, h.g_tau);
  if (spec.coefficients == CoefficientKind::hierarchical) sum += log_coefficient_hyperprior(h);
  return sum;
}

inline double log_posterior(const Problem& problem, const State& s) {
  return log_marginals(problem, s.leaves, s.hyper) + log_params(problem, s.leaves, s.hyper) +
         log_structure(problem.spec.split, s.tree, 0) + log_rules(s.tree) + log_hyperprior(problem.spec, s.hyper);
}

}  // namespace treedgp
