// Prior of a positive scalar (a range, the nugget): a mixture of gammas, or of atoms. One atom is a
// fixed value; density and mass never mix.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "treedgp/linalg/special.hpp"

namespace treedgp {

class ScalarPrior {
 public:
  // G(shape, rate), or an atom at `shape` if rate = 0.
  struct Component {
    double weight, shape, rate;
  };

  ScalarPrior() = default;
  explicit ScalarPrior(std::vector<Component> components) : components_(std::move(components)) {
    for (const auto& c : components_) {
      weights_.push_back(c.weight);
      log_constants_.push_back(std::log(c.weight) + (c.rate > 0 ? c.shape * std::log(c.rate) - log_gamma(c.shape) : 0));
    }
  }

  bool fixed() const { return components_.size() == 1 && components_[0].rate == 0; }

  template <class Rng>
  double draw(Rng& rng) const {
    const int i = components_.size() == 1 ? 0 : rng.pick_weighted(weights_);
    const Component& c = components_[i];
    return c.rate > 0 ? rng.gamma(c.shape) / c.rate : c.shape;
  }

  double log_p(double x) const {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::size_t i = 0; i < components_.size(); ++i) {
      const double t = log_term(i, x);
      if (t == -std::numeric_limits<double>::infinity()) continue;
      if (t > largest) {
        sum = sum * std::exp(largest - t) + 1;
        largest = t;
      } else {
        sum += std::exp(t - largest);
      }
    }
    return sum > 0 ? largest + std::log(sum) : largest;
  }

 private:
  double log_term(std::size_t i, double x) const {
    const Component& c = components_[i];
    if (c.rate == 0) return x == c.shape ? log_constants_[i] : -std::numeric_limits<double>::infinity();
    if (!(x > 0)) return -std::numeric_limits<double>::infinity();
    return log_constants_[i] + (c.shape - 1) * std::log(x) - c.rate * x;
  }

  std::vector<Component> components_;
  std::vector<double> weights_, log_constants_;
};

}  // namespace treedgp
