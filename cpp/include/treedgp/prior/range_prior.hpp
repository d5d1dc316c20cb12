// Joint prior of the ranges of a leaf: independent, each with the same law; or alike, around a scale that has this law.
//
// Alike ranges are d_i = s / r_i with s ~ G(a, b) and r_i ~ G(k, k). With s integrated out, n ranges and S = sum_i 1/d_i,
//
//   p(d) = b^a / Gamma(a)  Gamma(a + n k) / (b + k S)^(a + n k)  prod_i k^k / Gamma(k) d_i^-(k + 1),
//
// and s ~ G(a + n k, b + k S) given them. If the law is a mixture of gammas, so is p(d).
#pragma once
#include <span>

#include "treedgp/prior/scalar_prior.hpp"

namespace treedgp {

class RangePrior {
  // What p(d) depends on.
  struct Sums {
    int n = 0;
    double inverse = 0, log = 0;

    void add(double d) {
      ++n;
      inverse += 1 / d;
      log += std::log(d);
    }
  };

 public:
  RangePrior() = default;
  // alike: k, or 0 for independent ranges. Alike ranges need gammas.
  explicit RangePrior(ScalarPrior law, double alike = 0) : law_(std::move(law)), k_(alike) {
    if (k_ > 0) log_constant_ = k_ * std::log(k_) - log_gamma(k_);
    for (const auto& [weight, a, b] : law_.components())
      log_weights_.push_back(k_ > 0 ? std::log(weight) + a * std::log(b) - log_gamma(a) : 0);
  }

  bool empty() const { return law_.empty(); }
  bool atoms() const { return law_.atoms(); }
  bool alike() const { return k_ > 0; }

  double log_p(std::span<const double> d) const {
    if (k_ > 0) return log_joint(sums(d, d.size()));
    double sum = 0;
    for (double each : d) sum += law_.log_p(each);
    return sum;
  }

  // The law of one range, given the other ranges of its leaf.
  class Conditional {
   public:
    Conditional(const RangePrior& prior, const Sums& others) : prior_(prior), others_(others) {}

    double log_p(double d) const {
      if (prior_.k_ == 0) return prior_.law_.log_p(d);
      Sums all = others_;
      all.add(d);
      return prior_.log_joint(all) - prior_.log_joint(others_);
    }

    template <class Rng>
    double draw(Rng& rng) const {
      return prior_.k_ == 0 ? prior_.law_.draw(rng) : prior_.draw_beside(others_, rng);
    }

   private:
    const RangePrior& prior_;
    Sums others_;
  };

  // Of range i, given the rest of d.
  Conditional given(std::span<const double> d, std::size_t i) const { return {*this, k_ > 0 ? sums(d, i) : Sums{}}; }

 private:
  // Of all ranges but range `without`.
  static Sums sums(std::span<const double> d, std::size_t without) {
    Sums of;
    for (std::size_t i = 0; i < d.size(); ++i)
      if (i != without) of.add(d[i]);
    return of;
  }

  double log_component(std::size_t j, const Sums& of) const {
    const auto& [weight, a, b] = law_.components()[j];
    const double shape = a + of.n * k_;
    return log_weights_[j] + log_gamma(shape) - shape * std::log(b + k_ * of.inverse) + of.n * log_constant_ -
           (k_ + 1) * of.log;
  }

  double log_joint(const Sums& of) const {
    double sum = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < log_weights_.size(); ++j) sum = log_add(sum, log_component(j, of));
    return sum;
  }

  template <class Rng>
  double draw_beside(const Sums& others, Rng& rng) const {
    const auto& [weight, a, b] = law_.components()[pick_component(others, rng)];
    const double scale = rng.gamma(a + others.n * k_) / (b + k_ * others.inverse);
    return scale * k_ / rng.gamma(k_);
  }

  template <class Rng>
  int pick_component(const Sums& others, Rng& rng) const {
    if (log_weights_.size() == 1) return 0;
    const double total = log_joint(others);
    std::vector<double> weights;
    for (std::size_t j = 0; j < log_weights_.size(); ++j) weights.push_back(std::exp(log_component(j, others) - total));
    return rng.pick_weighted(weights);
  }

  ScalarPrior law_;
  double k_ = 0, log_constant_ = 0;
  std::vector<double> log_weights_;  // of the components of s
};

}  // namespace treedgp
