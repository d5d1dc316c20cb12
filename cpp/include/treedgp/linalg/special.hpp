// Special functions and densities used in more than one place.
#pragma once
#include <cmath>
#include <utility>

namespace treedgp {

// std::lgamma writes the global `signgam`, a data race between chains; the reentrant form does not.
inline double log_gamma(double x) {
#if defined(__GLIBC__) || defined(__APPLE__)
  int sign;
  return ::lgamma_r(x, &sign);
#else
  return std::lgamma(x);
#endif
}

// log(e^a + e^b)
inline double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return std::isinf(b) ? a : a + std::log1p(std::exp(b - a));
}

// log IG(x; a/2, g/2)
inline double log_inverse_gamma(double x, double a, double g) {
  return 0.5 * a * std::log(0.5 * g) - log_gamma(0.5 * a) - (0.5 * a + 1) * std::log(x) - 0.5 * g / x;
}

}  // namespace treedgp
