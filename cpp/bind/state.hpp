// A chain's state as arrays: a single draw, and the random-walk scales.
#pragma once
#include "arrays.hpp"

namespace treedgp::bind {

inline nb::dict state_to_dict(const State& s, const Problem& problem) {
  Draws one;
  one.append(s, log_posterior(problem, s));
  nb::dict out = to_dict(std::move(one), problem.spec.leaf.n_range, problem.data.m());
  out["log_step"] = to_numpy(std::vector<double>(s.log_step.begin(), s.log_step.end()), {n_steps});
  return out;
}

inline State state_from_dict(const nb::dict& arrays, const Problem& problem, Workspace& ws) {
  const DrawsIn in(arrays, problem);
  if (in.view.n_draws != 1) throw std::invalid_argument("state: expected one draw");
  State s = restore_state(problem, in.view, 0, ws);
  In<double> steps;
  if (!arrays.contains("log_step") || !nb::try_cast(arrays["log_step"], steps) || steps.size() != n_steps)
    throw std::invalid_argument("state: 'log_step' is missing or has the wrong shape");
  std::copy_n(steps.data(), n_steps, s.log_step.begin());
  return s;
}

}  // namespace treedgp::bind
