// Draws from PG(1, c): Devroye's alternating-series method (Polson, Scott & Windle 2013, section 4). Exact in law.
//
// PG(1, c) is J / 4 where J has density cosh(z) exp(-z^2 x / 2) sum_n (-1)^n a_n(x), z = |c| / 2. The proposal is an
// inverse Gaussian below the point t, an exponential above it; partial sums of the series bracket the density.
#pragma once
#include <cmath>
#include <numbers>

namespace treedgp {

namespace polya_gamma {

constexpr double t = 0.64;  // where the two forms of a_n cross

// a_n(x), the form that converges fast on its side of t.
inline double coefficient(int n, double x) {
  const double k = n + 0.5, pi = std::numbers::pi;
  if (x > t) return pi * k * std::exp(-0.5 * k * k * pi * pi * x);
  return pi * k * std::pow(2 / (pi * x), 1.5) * std::exp(-2 * k * k / x);
}

inline double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// Probability that the proposal is the exponential above t. Both weights carry a factor exp(z), which cancels: alone
// they would vanish for large z.
inline double p_above(double z) {
  const double pi = std::numbers::pi, rate = pi * pi / 8 + 0.5 * z * z, root = std::sqrt(1 / t);
  const double above = pi / (2 * rate) * std::exp(z - rate * t);
  const double tail = normal_cdf(-root * (t * z + 1));
  const double below = 2 * (normal_cdf(root * (t * z - 1)) + (tail > 0 ? std::exp(2 * z + std::log(tail)) : 0));
  return above / (above + below);
}

// Inverse Gaussian of mean 1/z and shape 1, given that it is at most t.
template <class Rng>
double truncated_inverse_gaussian(double z, Rng& rng) {
  if (z * t < 1) {  // the mean lies above t: by a scaled inverse chi-square
    for (;;) {
      double e;
      do e = rng.exponential();
      while (e * e > 2 * rng.exponential() / t);
      const double x = t / ((1 + t * e) * (1 + t * e));
      if (rng.uniform() <= std::exp(-0.5 * z * z * x)) return x;
    }
  }
  const double mean = 1 / z;
  for (;;) {  // Michael, Schucany & Haas (1976)
    const double n = rng.normal(), y = mean * n * n;
    double x = mean * (1 + 0.5 * y - 0.5 * std::sqrt(y * (4 + y)));
    if (rng.uniform() > mean / (mean + x)) x = mean * mean / x;
    if (!(x > t)) return x;
  }
}

}  // namespace polya_gamma

template <class Rng>
double draw_polya_gamma(double c, Rng& rng) {
  using namespace polya_gamma;
  const double z = 0.5 * std::abs(c), above = p_above(z);
  const double rate = std::numbers::pi * std::numbers::pi / 8 + 0.5 * z * z;
  for (;;) {
    const double x = rng.uniform() < above ? t + rng.exponential() / rate : truncated_inverse_gaussian(z, rng);
    double sum = coefficient(0, x);
    const double y = rng.uniform() * sum;
    for (int n = 1;; ++n) {
      if (n % 2 == 1) {
        sum -= coefficient(n, x);
        if (!(y > sum)) return 0.25 * x;  // a c that is not a number gives none back, rather than no end
      } else {
        sum += coefficient(n, x);
        if (y > sum) break;
      }
    }
  }
}

}  // namespace treedgp
