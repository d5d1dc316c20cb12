// The generator that moves receive. Its verbs are the whole contract: a test generator with the same
// verbs enumerates every branch of the shipped moves (cpp/testing/enumerator.hpp).
#pragma once
#include <cmath>
#include <cstdint>
#include <span>

#include "treedgp/rng/philox.hpp"
#include "treedgp/rng/ziggurat.hpp"

namespace treedgp {

class Random {
 public:
  Random(std::uint64_t seed, std::uint32_t chain)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, chain_(chain) {}

  void start_round(std::uint64_t round) {
    round_ = round;
    block_index_ = 0;
    used_ = words_.size();
  }

  // Uniform on the open interval (0, 1): 52 bits, centred in their cell.
  double uniform() { return open_unit(next64()); }

  // By a ziggurat: 52 bits place a point in a layer that the 7 lowest bits pick.
  double normal() {
    for (;;) {
      const std::uint64_t bits = next64();
      const int layer = bits & 127;
      const double u = 2 * open_unit(bits) - 1, x = u * ziggurat.edge[layer];
      if (std::abs(x) < ziggurat.edge[layer + 1]) return x;  // within the layer above, so below the density
      if (layer == 0) return std::copysign(normal_tail(), u);
      const double top = ziggurat.density[layer + 1], bottom = ziggurat.density[layer];
      if (bottom + uniform() * (top - bottom) < std::exp(-0.5 * x * x)) return x;
    }
  }

  double exponential() { return -std::log(uniform()); }

  // Gamma(shape, 1), Marsaglia & Tsang (2000).
  double gamma(double shape) {
    if (shape < 1) {
      const double boost = std::pow(uniform(), 1 / shape);
      return gamma(shape + 1) * boost;
    }
    const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal(), root = 1 + c * x;
      if (root <= 0) continue;
      const double v = root * root * root, u = uniform(), x2 = x * x;
      if (u < 1 - 0.0331 * x2 * x2) return d * v;  // a squeeze, which spares most of the logarithms
      if (std::log(u) < 0.5 * x2 + d - d * v + d * std::log(v)) return d * v;
    }
  }

  // Uniform on 0..n-1: the upper half of a 32-bit word times n, unless the lower half falls in the few values that
  // would favour some (Lemire 2019).
  int pick(int n) {
    const std::uint32_t range = static_cast<std::uint32_t>(n);
    for (;;) {
      const std::uint64_t product = (next64() >> 32) * range;
      const std::uint32_t low = static_cast<std::uint32_t>(product);
      if (low >= range || low >= -range % range) return static_cast<int>(product >> 32);
    }
  }

  bool bernoulli(double p) { return p > 0 && (p >= 1 || uniform() < p); }
  bool coin() { return bernoulli(0.5); }

  // Index i with probability weights[i] (they sum to 1).
  int pick_weighted(std::span<const double> weights) {
    double u = uniform();
    for (std::size_t i = 0; i + 1 < weights.size(); ++i)
      if ((u -= weights[i]) < 0) return static_cast<int>(i);
    return static_cast<int>(weights.size()) - 1;
  }

 private:
  static double open_unit(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

  // |x| of a normal beyond the base of the ziggurat, Marsaglia (1964).
  double normal_tail() {
    for (;;) {
      const double x = -std::log(uniform()) / Ziggurat::base, y = -std::log(uniform());
      if (2 * y > x * x) return Ziggurat::base + x;
    }
  }

  std::uint64_t next64() {
    if (used_ == words_.size()) refill();
    return words_[used_++];
  }

  // Several blocks at once: each is a long chain of dependent steps, but the chains run side by side.
  void refill() {
    for (std::size_t i = 0; i < words_.size(); i += 2) {
      const PhiloxBlock block = philox_4x32_10({block_index_++, chain_, static_cast<std::uint32_t>(round_),
                                                static_cast<std::uint32_t>(round_ >> 32)}, key_);
      words_[i] = static_cast<std::uint64_t>(block[1]) << 32 | block[0];
      words_[i + 1] = static_cast<std::uint64_t>(block[3]) << 32 | block[2];
    }
    used_ = 0;
  }

  std::array<std::uint32_t, 2> key_;
  std::uint32_t chain_, block_index_ = 0;
  std::uint64_t round_ = 0;
  std::array<std::uint64_t, 8> words_;
  std::size_t used_ = words_.size();
};

}  // namespace treedgp
