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
    const DrawsView& v = draws_.view;
    if (v.n_draws != 1) throw std::invalid_argument("state: expected one draw");
    const std::int64_t leaves = v.first_leaf(1);
    auto require_positive = [](const double* values, std::int64_t n, const char* name) {
      for (std::int64_t i = 0; i < n; ++i)
        if (!(values[i] > 0) || std::isinf(values[i]))
          throw std::invalid_argument(std::string("state: '") + name + "' must be positive and finite");
    };
    require_positive(v.range, leaves * v.n_range, "range");
    require_positive(v.sigma2, leaves, "sigma2");
    require_positive(v.tau2, leaves, "tau2");
    require_positive(v.hyper, 4, "hyper");
    for (std::int64_t i = 0; i < leaves; ++i)
      if (!(v.nugget[i] >= 0) || std::isinf(v.nugget[i]))
        throw std::invalid_argument("state: 'nugget' must be finite and not negative");
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
