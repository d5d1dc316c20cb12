// The prior IG(a/2, g/2) of a variance, with a - 2 ~ Exp(rate_a) and g - 1e-10 ~ Exp(rate_g) unless fixed. Were g
// free to reach 0, the posterior of exactly fitted data would be improper.
#pragma once
#include <cmath>
#include <limits>

namespace treedgp {

struct InverseGammaPrior {
  static constexpr double a_floor = 2, g_floor = 1e-10;

  double a = 5, g = 10;  // fixed, or where the chain starts
  bool learned = true;
  double rate_a = 0.2, rate_g = 10;

  double log_hyperprior(double a, double g) const {
    if (!learned) return 0;
    if (!(a > a_floor && g > g_floor)) return -std::numeric_limits<double>::infinity();
    return std::log(rate_a) - rate_a * (a - a_floor) + std::log(rate_g) - rate_g * (g - g_floor);
  }
};

}  // namespace treedgp
