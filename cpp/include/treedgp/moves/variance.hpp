// SIGMA2 and TAU2 of a leaf where they are parameters of the moves: random walks on the log scale. K* is kept.
#pragma once
#include "treedgp/moves/leaf_move.hpp"

namespace treedgp {

inline LeafProposal with_variance(const Leaf& old, const ScalarStep& step, Workspace& ws) {
  LeafProposal next{.leaf = std::move(ws.spare), .walked = true};
  next.leaf = old;
  next.ratio = {.params_prior = step.log_p_next - step.log_p_now, .log_jacobian = step.log_jacobian};
  return next;
}

template <class Rng>
LeafProposal propose_sigma2(const Layer& layer, const Problem& problem, Workspace& ws, int index,
                            double log_fit_now, Rng& rng) {
  const Leaf& old = layer.leaves[index];
  auto log_p = [&](double x) { return log_inverse_gamma(x, layer.hyper.a_sigma, layer.hyper.g_sigma); };
  const ScalarStep step = walk_scalar(old.params.sigma2, log_p, layer.log_step[sigma2_step], rng);
  LeafProposal next = with_variance(old, step, ws);
  next.leaf.params.sigma2 = step.value;
  // The noise of z relative to sigma2 has changed.
  fit_data(next.leaf, problem, layer, ws);
  next.log_fit = log_fit(problem, next.leaf, layer.hyper);
  next.ratio.likelihood = next.log_fit - log_fit_now;
  return next;
}

template <class Rng>
LeafProposal propose_tau2(const Layer& layer, const Problem& problem, Workspace& ws, int index, double log_fit_now,
                          Rng& rng) {
  const Leaf& old = layer.leaves[index];
  auto log_p = [&](double x) { return log_inverse_gamma(x, layer.hyper.a_tau, layer.hyper.g_tau); };
  const ScalarStep step = walk_scalar(old.params.tau2, log_p, layer.log_step[tau2_step], rng);
  LeafProposal next = with_variance(old, step, ws);
  next.leaf.params.tau2 = step.value;
  next.log_fit = log_fit(problem, next.leaf, layer.hyper);
  next.ratio.likelihood = next.log_fit - log_fit_now;
  return next;
}

}  // namespace treedgp
