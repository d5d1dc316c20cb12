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

// A state's arrays, checked; restore() needs no GIL.
class StateIn {
 public:
  StateIn(const nb::dict& arrays, const Problem& problem) : draws_(arrays, problem) {
    if (draws_.view.n_draws != 1) throw std::invalid_argument("state: expected one draw");
    std::copy_n(draws_.shaped<double>("log_step", {n_steps}), n_steps, log_step_.begin());
  }

  State restore(const Problem& problem) const {
    Workspace ws;
    State s = restore_state(problem, draws_.view, 0, ws);
    s.log_step = log_step_;
    return s;
  }

 private:
  DrawsIn draws_;
  std::array<double, n_steps> log_step_;
};

}  // namespace treedgp::bind
