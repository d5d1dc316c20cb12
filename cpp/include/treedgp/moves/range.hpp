// RANGE: one (d_i, b_i) of a leaf. Half the time d_i is drawn from its prior, half the time it takes a random
// walk on the log scale; b_i is drawn from p(b | d_i) either way. Reverse: the same kind of step back.
#pragma once
#include "treedgp/moves/leaf_move.hpp"

namespace treedgp {

template <class Rng>
LeafProposal propose_range(const Layer& layer, const Problem& problem, Workspace& ws, int index, double log_fit_now,
                           Rng& rng) {
  const LeafPrior& prior = problem.spec.leaf;
  const Leaf& old = layer.leaves[index];
  const int i = rng.pick(prior.n_range);
  const double d = old.params.d[i];
  const bool b = old.params.b[i];
  const ScalarStep step = step_scalar(d, prior.range.given(old.params.d, i), layer.log_step[range_step], rng);
  const bool next_b = prior.limiting.draw(rng, step.value);

  LeafProposal next{.leaf = std::move(ws.spare), .walked = step.walked};
  next.leaf.region = old.region;
  next.leaf.params = old.params;
  next.leaf.params.d[i] = step.value;
  next.leaf.params.b[i] = next_b;
  if (!b && !next_b) {  // a dropped range leaves K as it is
    next.leaf.basis = old.basis;
    next.leaf.data = old.data;
    next.leaf.factor = old.factor;
    next.log_fit = log_fit_now;
  } else {
    fit_basis(next.leaf, problem, layer, ws);
    fit_data(next.leaf, problem, layer, ws);
    next.log_fit = log_fit(problem, next.leaf, layer.hyper);
  }
  const double log_b = prior.limiting.log_p(b, d), log_next_b = prior.limiting.log_p(next_b, step.value);
  const double log_pick = log_one_of(prior.n_range);
  next.ratio = {.likelihood = next.log_fit - log_fit_now,
                .params_prior = step.log_p_next + log_next_b - step.log_p_now - log_b,
                .q_forward = log_pick + step.log_q_forward + log_next_b,
                .q_reverse = log_pick + step.log_q_reverse + log_b,
                .log_jacobian = step.log_jacobian};
  return next;
}

}  // namespace treedgp
