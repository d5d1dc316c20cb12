// COMMON RANGE: every range of a leaf times one factor, a random walk on the log scale; b stays. Where ranges are alike,
// single ones can hardly leave the others. Reverse: the same kind of step back.
#pragma once
#include "treedgp/moves/leaf_move.hpp"

namespace treedgp {

template <class Rng>
LeafProposal propose_common_range(const Layer& layer, const Problem& problem, Workspace& ws, int index,
                                  double log_fit_now, Rng& rng) {
  const LeafPrior& prior = problem.spec.leaf;
  const Leaf& old = layer.leaves[index];
  const double move = std::exp(layer.log_step[range_step]) * rng.normal();

  LeafProposal next{.leaf = std::move(ws.spare), .walked = true};
  next.leaf.region = old.region;
  next.leaf.params = old.params;
  for (double& d : next.leaf.params.d) d *= std::exp(move);
  fit_basis(next.leaf, problem, layer, ws);
  fit_data(next.leaf, problem, layer, ws);
  next.log_fit = log_fit(problem, next.leaf, layer.hyper);
  next.ratio = {.likelihood = next.log_fit - log_fit_now,
                .params_prior = prior.log_p_ranges(next.leaf.params) - prior.log_p_ranges(old.params),
                .log_jacobian = prior.n_range * move};
  return next;
}

}  // namespace treedgp
