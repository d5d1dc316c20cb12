// The prior IG(a/2, g/2) of a variance, with a ~ Exp(rate_a) on (2, inf) and g ~ Exp(rate_g) unless fixed.
#pragma once
#include <cmath>

namespace treedgp {

struct InverseGammaPrior {
  double a = 5, g = 10;  // fixed, or where the chain starts
  bool learned = true;
  double rate_a = 0.2, rate_g = 10;

  double log_hyperprior(double a, double g) const {
    return learned ? std::log(rate_a) - rate_a * (a - 2) + std::log(rate_g) - rate_g * g : 0;
  }
};

}  // namespace treedgp
