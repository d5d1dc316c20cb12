// Prior of the limiting-linear booleans: p(b = 0 | d) = theta1 + theta2 / (1 + exp(-gamma (d - 1/2))).
#pragma once
#include <cmath>

namespace treedgp {

struct LimitingPrior {
  bool allowed = true;  // false: every b is 1
  double gamma = 10, theta1 = 0.2, theta2 = 0.7;

  double p_linear(double d) const { return allowed ? theta1 + theta2 / (1 + std::exp(-gamma * (d - 0.5))) : 0; }
  double log_p(bool b, double d) const {
    if (!allowed && b) return 0;
    return b ? std::log1p(-p_linear(d)) : std::log(p_linear(d));
  }

  template <class Rng>
  bool draw(Rng& rng, double d) const {
    return !rng.bernoulli(p_linear(d));
  }
};

}  // namespace treedgp
