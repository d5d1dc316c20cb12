// RANGE: one (d_i, b_i) of a leaf. Half the time d_i is drawn from its prior, half the time it takes a random
// walk on the log scale; b_i is drawn from p(b | d_i) either way. Reverse: the same kind of step back.
#pragma once
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

struct ScalarStep {
  double value, log_q_forward, log_q_reverse, log_jacobian;
  bool walked;  // a random-walk step, whose scale adapts
};

// One positive scalar: a draw from the prior, or a log-normal random walk.
template <class Rng>
ScalarStep step_scalar(double now, const ScalarPrior& prior, double log_step, Rng& rng) {
  if (rng.coin()) {
    const double value = prior.draw(rng);
    return {value, prior.log_p(value), prior.log_p(now), 0, false};
  }
  const double value = now * std::exp(std::exp(log_step) * rng.normal());
  return {value, 0, 0, std::log(value) - std::log(now), true};
}

// The proposal that gives leaf `index` new parameters and data terms, with the target's terms of its ratio.
inline Proposal replace_leaf(const State& s, const Problem& problem, int index, Leaf leaf) {
  const Leaf& old = s.leaves[index];
  LogRatio ratio{
      .likelihood = log_marginal(problem, leaf, s.hyper) - log_marginal(problem, old, s.hyper),
      .params_prior = problem.spec.leaf.log_p(leaf.params, s.hyper) - problem.spec.leaf.log_p(old.params, s.hyper)};
  return {s.tree, index, 1, {std::move(leaf)}, ratio};
}

template <class Rng>
Proposal propose_range(const State& s, const Problem& problem, Workspace& ws, const Region& region, int index,
                       Rng& rng, bool& walked) {
  const LeafPrior& prior = problem.spec.leaf;
  const Leaf& old = s.leaves[index];
  const int i = rng.pick(prior.n_range);
  const ScalarStep step = step_scalar(old.params.d[i], prior.range, s.log_step[range_step], rng);
  walked = step.walked;

  LeafParams params = old.params;
  params.d[i] = step.value;
  params.b[i] = prior.limiting.draw(rng, step.value);
  const bool same_correlation = !old.params.b[i] && !params.b[i];  // a dropped range leaves K as it is
  Leaf leaf = old;
  if (same_correlation)
    leaf.params = params;
  else
    leaf = fit_leaf(problem, ws, region, params);

  Proposal next = replace_leaf(s, problem, index, std::move(leaf));
  next.ratio.q_forward = log_one_of(prior.n_range) + log_half + step.log_q_forward +
                         prior.limiting.log_p(params.b[i], params.d[i]);
  next.ratio.q_reverse = log_one_of(prior.n_range) + log_half + step.log_q_reverse +
                         prior.limiting.log_p(old.params.b[i], old.params.d[i]);
  next.ratio.log_jacobian = step.log_jacobian;
  return next;
}

}  // namespace treedgp
