// NUGGET: the g of a leaf, from its prior or by a random walk on the log scale. K* is kept.
#pragma once
#include "treedgp/moves/range.hpp"

namespace treedgp {

template <class Rng>
Proposal propose_nugget(const State& s, const Problem& problem, Workspace& ws, const Region& region, int index,
                        Rng& rng, bool& walked) {
  Leaf leaf = s.leaves[index];
  const ScalarStep step = step_scalar(leaf.params.g, problem.spec.leaf.nugget, s.log_step[nugget_step], rng);
  walked = step.walked;
  leaf.params.g = step.value;
  leaf.data = whiten(problem.data, region.rows, leaf.params, *leaf.basis, ws);

  Proposal next = replace_leaf(s, problem, index, std::move(leaf));
  next.ratio.q_forward = log_half + step.log_q_forward;
  next.ratio.q_reverse = log_half + step.log_q_reverse;
  next.ratio.log_jacobian = step.log_jacobian;
  return next;
}

}  // namespace treedgp
