// Prior of a positive scalar (a range, the nugget): a mixture of gammas, or of atoms. One atom is a fixed value;
// density and mass never mix.
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
  // Gammas start at `floor`.
  explicit ScalarPrior(std::vector<Component> components, double floor = 0)
      : components_(std::move(components)), floor_(floor) {
    for (const auto& c : components_) {
      weights_.push_back(c.weight);
      log_constants_.push_back(std::log(c.weight) + (c.rate > 0 ? c.shape * std::log(c.rate) - log_gamma(c.shape) : 0));
    }
  }

  bool empty() const { return components_.empty(); }
  bool atoms() const { return !components_.empty() && components_[0].rate == 0; }
  bool fixed() const { return components_.size() == 1 && atoms(); }
  const std::vector<Component>& components() const { return components_; }

  template <class Rng>
  double draw(Rng& rng) const {
    const int i = components_.size() == 1 ? 0 : rng.pick_weighted(weights_);
    const Component& c = components_[i];
    return c.rate > 0 ? floor_ + rng.gamma(c.shape) / c.rate : c.shape;
  }

  double log_p(double x) const {
    constexpr double inf = std::numeric_limits<double>::infinity();
    const double log_x = std::log(x - floor_);
    double sum = -inf;
    for (std::size_t i = 0; i < components_.size(); ++i) {
      const Component& c = components_[i];
      double term = log_constants_[i];
      if (c.rate > 0)
        term = x > floor_ ? term + (c.shape - 1) * log_x - c.rate * (x - floor_) : -inf;
      else if (x != c.shape)
        term = -inf;
      sum = log_add(sum, term);
    }
    return sum;
  }

 private:
  std::vector<Component> components_;
  double floor_ = 0;
  std::vector<double> weights_, log_constants_;
};

}  // namespace treedgp
