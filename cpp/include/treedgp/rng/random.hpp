// The generator that moves receive. Its verbs are the whole contract: a test generator with the same
// verbs enumerates every branch of the shipped moves (cpp/testing/enumerator.hpp).
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>

#include "treedgp/rng/philox.hpp"

namespace treedgp {

class Random {
 public:
  Random(std::uint64_t seed, std::uint32_t chain)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}, chain_(chain) {}

  void start_round(std::uint64_t round) {
    round_ = round;
    block_index_ = 0;
    used_ = 2;
    has_spare_ = false;
  }

  // Uniform on the open interval (0, 1): 52 bits, centred in their cell.
  double uniform() { return (static_cast<double>(next64() >> 12) + 0.5) * 0x1p-52; }

  // Box & Muller; the second of a pair waits for the next call of the same round.
  double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2 * std::log(uniform())), angle = 2 * std::numbers::pi * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
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
      const double v = root * root * root;
      if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
    }
  }

  // Uniform on 0..n-1, without the bias of a modulus.
  int pick(int n) {
    const std::uint64_t range = static_cast<std::uint64_t>(n), limit = UINT64_MAX - UINT64_MAX % range;
    for (;;)
      if (const std::uint64_t x = next64(); x < limit) return static_cast<int>(x % range);
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
  std::uint64_t next64() {
    if (used_ == 2) {
      block_ = philox_4x32_10({block_index_++, chain_, static_cast<std::uint32_t>(round_),
                               static_cast<std::uint32_t>(round_ >> 32)}, key_);
      used_ = 0;
    }
    const std::uint64_t low = block_[2 * used_], high = block_[2 * used_ + 1];
    ++used_;
    return high << 32 | low;
  }

  std::array<std::uint32_t, 2> key_;
  std::uint32_t chain_, block_index_ = 0;
  std::uint64_t round_ = 0;
  PhiloxBlock block_{};
  int used_ = 2;
  bool has_spare_ = false;
  double spare_ = 0;
};

}  // namespace treedgp
