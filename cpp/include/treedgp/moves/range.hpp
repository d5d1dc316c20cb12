// RANGE: one (d_i, b_i) of a leaf. Half the time d_i is drawn from its prior, half the time it takes a random
// walk on the log scale; b_i is drawn from p(b | d_i) either way. Reverse: the same kind of step back.
#pragma once
#include "treedgp/moves/leaf_move.hpp"

namespace treedgp {

template <class Rng>
LeafProposal propose_range(const Layer& layer, const Problem& problem, Workspace& ws, int index, double log_marginal_now,
                           Rng& rng) {
  const LeafPrior& prior = problem.spec.leaf;
  const Leaf& old = layer.leaves[index];
  const int i = rng.pick(prior.n_range);
  const double d = old.params.d[i];
  const bool b = old.params.b[i];
  const ScalarStep step = step_scalar(d, prior.range, layer.log_step[range_step], rng);
  const bool next_b = prior.limiting.draw(rng, step.value);

  LeafParams params = old.params;
  params.d[i] = step.value;
  params.b[i] = next_b;
  LeafProposal next{.walked = step.walked};
  if (!b && !next_b) {  // a dropped range leaves K as it is
    next.leaf = old;
    next.leaf.params = std::move(params);
    next.log_marginal = log_marginal_now;
  } else {
    next.leaf = fit_leaf(problem, layer, ws, old.region, std::move(params));
    next.log_marginal = log_marginal(problem, next.leaf, layer.hyper);
  }
  const double log_b = prior.limiting.log_p(b, d), log_next_b = prior.limiting.log_p(next_b, step.value);
  next.ratio = {.likelihood = next.log_marginal - log_marginal_now,
                .params_prior = step.log_p_next + log_next_b - step.log_p_now - log_b,
                .q_forward = log_one_of(prior.n_range) + step.log_q_forward + log_next_b,
                .q_reverse = log_one_of(prior.n_range) + step.log_q_reverse + log_b,
                .log_jacobian = step.log_jacobian};
  return next;
}

}  // namespace treedgp
