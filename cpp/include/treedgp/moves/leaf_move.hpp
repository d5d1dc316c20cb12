// What the moves of a single leaf share: the step of a positive scalar, and the proposal.
#pragma once
#include "treedgp/moves/ratio.hpp"

namespace treedgp {

struct ScalarStep {
  double value;
  double log_p_now, log_p_next;         // prior
  double log_q_forward, log_q_reverse;  // the choice of the kind of step included
  double log_jacobian;
  bool walked;                          // a random-walk step, whose scale adapts
};

// A draw from the prior, or a log-normal random walk.
template <class Rng, class Prior>
ScalarStep step_scalar(double now, const Prior& prior, double log_step, Rng& rng) {
  const double log_p_now = prior.log_p(now);
  if (rng.coin()) {
    const double value = prior.draw(rng), log_p_next = prior.log_p(value);
    return {value, log_p_now, log_p_next, log_half + log_p_next, log_half + log_p_now, 0, false};
  }
  const double move = std::exp(log_step) * rng.normal(), value = now * std::exp(move);
  return {value, log_p_now, prior.log_p(value), log_half, log_half, move, true};
}

// A log-normal random walk alone, where a draw from the prior would hardly ever be taken.
template <class Rng, class LogPrior>
ScalarStep walk_scalar(double now, LogPrior&& log_p, double log_step, Rng& rng) {
  const double move = std::exp(log_step) * rng.normal(), value = now * std::exp(move);
  return {value, log_p(now), log_p(value), 0, 0, move, true};
}

// A leaf in place of leaf `index`.
struct LeafProposal {
  Leaf leaf;
  double log_fit = 0;
  LogRatio ratio{};
  bool walked = false;
};

// The same as a proposal for the whole tree.
inline Proposal within_tree(const State& s, const Layer& layer, int index, LeafProposal&& next) {
  std::vector<std::vector<Leaf>> leaves;
  for (const Layer& every : s.layers) leaves.push_back({&every == &layer ? std::move(next.leaf) : every.leaves[index]});
  return {s.tree, index, 1, std::move(leaves), next.ratio};
}

}  // namespace treedgp
