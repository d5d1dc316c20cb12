// NUGGET: the g of a leaf, from its prior or by a random walk on the log scale. K* is kept.
#pragma once
#include "treedgp/moves/leaf_move.hpp"

namespace treedgp {

template <class Rng>
LeafProposal propose_nugget(const Layer& layer, const Problem& problem, Workspace& ws, int index, double log_fit_now,
                            Rng& rng) {
  const Leaf& old = layer.leaves[index];
  const ScalarStep step = step_scalar(old.params.g, problem.spec.leaf.nugget, layer.log_step[nugget_step], rng);

  LeafProposal next{.leaf = std::move(ws.spare), .walked = step.walked};
  next.leaf.region = old.region;
  next.leaf.params = old.params;
  next.leaf.params.g = step.value;
  next.leaf.basis = old.basis;
  fit_data(next.leaf, problem, layer, ws);
  next.log_fit = log_fit(problem, next.leaf, layer.hyper);
  next.ratio = {.likelihood = next.log_fit - log_fit_now,
                .params_prior = step.log_p_next - step.log_p_now,
                .q_forward = step.log_q_forward,
                .q_reverse = step.log_q_reverse,
                .log_jacobian = step.log_jacobian};
  return next;
}

}  // namespace treedgp
