// The prior IG(a/2, g/2) of a variance, with a - 2 ~ Exp(rate_a) and g - 1e-10 ~ G(shape_g, rate_g), each unless fixed. Were g
// free to reach 0, the posterior of exactly fitted data would be improper.
#pragma once
#include <cmath>
#include <limits>

#include "treedgp/linalg/special.hpp"

namespace treedgp {

struct InverseGammaPrior {
  static constexpr double a_floor = 2, g_floor = 1e-10;

  double a = 5, g = 10;  // fixed, or where the chain starts
  bool learn_a = true, learn_g = true;
  double rate_a = 0.2, rate_g = 10, shape_g = 1;

  // Up to a constant, which is all that a move of (a, g) needs.
  double log_kernel(double a, double g) const {
    if ((learn_a && !(a > a_floor)) || (learn_g && !(g > g_floor))) return -std::numeric_limits<double>::infinity();
    double sum = learn_a ? -rate_a * (a - a_floor) : 0;
    if (learn_g) sum -= rate_g * (g - g_floor);
    if (learn_g && shape_g != 1) sum += (shape_g - 1) * std::log(g - g_floor);
    return sum;
  }

  double log_hyperprior(double a, double g) const {
    return log_kernel(a, g) + (learn_a ? std::log(rate_a) : 0) +
           (learn_g ? shape_g * std::log(rate_g) - log_gamma(shape_g) : 0);
  }
};

}  // namespace treedgp
