// RENEW: all parameters of a leaf, drawn from their prior. Reverse: the same.
#pragma once
#include "treedgp/moves/leaf_move.hpp"

namespace treedgp {

template <class Rng>
LeafProposal propose_renewal(const Layer& layer, const Problem& problem, Workspace& ws, int index, double log_fit_now,
                             Rng& rng) {
  const LeafPrior& prior = problem.spec.leaf;
  const Leaf& old = layer.leaves[index];
  LeafProposal next{.leaf = fit_leaf(problem, layer, ws, old.region, prior.draw(rng, layer.hyper))};
  next.log_fit = log_fit(problem, next.leaf, layer.hyper);
  const double log_p = prior.log_p(old.params, layer.hyper), log_next_p = prior.log_p(next.leaf.params, layer.hyper);
  next.ratio = {.likelihood = next.log_fit - log_fit_now,
                .params_prior = log_next_p - log_p,
                .q_forward = log_next_p,
                .q_reverse = log_p};
  return next;
}

}  // namespace treedgp
