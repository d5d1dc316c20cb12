// What a leaf carries through tree moves, and its prior.
#pragma once
#include <numbers>

#include "treedgp/prior/coefficients.hpp"
#include "treedgp/prior/inverse_gamma.hpp"
#include "treedgp/prior/limiting_prior.hpp"
#include "treedgp/prior/range_prior.hpp"

namespace treedgp {

struct LeafParams {
  Vector d;              // ranges (n_range): none in linear and constant leaves, one if isotropic, else q
  std::vector<char> b;   // (n_range) 1: the GP sees this range's columns, 0: dropped
  double g = 0;          // nugget
  double tau2 = 1;
  double sigma2 = 1;     // where moves integrate it out: undefined in a leaf that a move has just made

  // All dropped: K = (1 + g) I, the limiting linear model.
  bool linear() const {
    for (char on : b)
      if (on) return false;
    return true;
  }
};

struct LeafPrior {
  int n_range = 0;
  RangePrior range;
  ScalarPrior nugget;
  LimitingPrior limiting;
  bool tau2_random = true;  // tau2 ~ IG(a_tau/2, g_tau/2); else always `tau2_value`
  double tau2_value = 1;
  bool sigma2_explicit = false;  // moves condition on sigma2 ~ IG(a_sigma/2, g_sigma/2) instead of integrating it out

  double log_p_ranges(const LeafParams& p) const {
    double sum = range.log_p(p.d);
    for (int i = 0; i < n_range; ++i) sum += limiting.log_p(p.b[i], p.d[i]);
    return sum;
  }

  // All but sigma2.
  double log_p_shape(const LeafParams& p, const Hyper& h) const {
    const double sum = nugget.log_p(p.g) + log_p_ranges(p);
    return tau2_random ? sum + log_inverse_gamma(p.tau2, h.a_tau, h.g_tau) : sum;
  }

  double log_p(const LeafParams& p, const Hyper& h) const {
    return log_p_shape(p, h) + (sigma2_explicit ? log_inverse_gamma(p.sigma2, h.a_sigma, h.g_sigma) : 0);
  }

  template <class Rng>
  LeafParams draw(Rng& rng, const Hyper& h) const {
    LeafParams p;
    for (int i = 0; i < n_range; ++i) {
      p.d.push_back(range.given(p.d, i).draw(rng));  // given those before it
      p.b.push_back(limiting.draw(rng, p.d[i]));
    }
    p.g = nugget.draw(rng);
    p.tau2 = tau2_random ? 0.5 * h.g_tau / rng.gamma(0.5 * h.a_tau) : tau2_value;
    if (sigma2_explicit) p.sigma2 = 0.5 * h.g_sigma / rng.gamma(0.5 * h.a_sigma);
    return p;
  }

  // What a grow move proposes for the sibling of a leaf: a draw from the prior or, half the time where ranges vary, near
  // what the leaf has, since much of the input space often behaves alike.
  template <class Rng>
  LeafParams draw_sibling(Rng& rng, const Hyper& h, const LeafParams& leaf) const {
    LeafParams p = draw(rng, h);
    if (!ranges_vary() || rng.coin()) return p;
    auto near = [&](double& value, double of_leaf) { value = of_leaf * std::exp(sibling_sd * rng.normal()); };
    for (int i = 0; i < n_range; ++i) {
      near(p.d[i], leaf.d[i]);
      p.b[i] = rng.bernoulli(sibling_b) ? leaf.b[i] : limiting.draw(rng, p.d[i]);
    }
    if (!nugget.atoms()) near(p.g, leaf.g);
    if (tau2_random) near(p.tau2, leaf.tau2);
    if (sigma2_explicit) near(p.sigma2, leaf.sigma2);
    return p;
  }

  double log_sibling(const LeafParams& p, const Hyper& h, const LeafParams& leaf) const {
    if (!ranges_vary()) return log_p(p, h);
    auto log_near = [](double value, double of_leaf) {
      const double z = std::log(value / of_leaf) / sibling_sd;
      return -0.5 * z * z - std::log(value * sibling_sd) - 0.5 * std::log(2 * std::numbers::pi);
    };
    double sum = nugget.atoms() ? nugget.log_p(p.g) : log_near(p.g, leaf.g);
    for (int i = 0; i < n_range; ++i) {
      const double p_b = (1 - sibling_b) * std::exp(limiting.log_p(p.b[i], p.d[i]));
      sum += log_near(p.d[i], leaf.d[i]) + std::log(p.b[i] == leaf.b[i] ? p_b + sibling_b : p_b);
    }
    if (tau2_random) sum += log_near(p.tau2, leaf.tau2);
    if (sigma2_explicit) sum += log_near(p.sigma2, leaf.sigma2);
    return std::log(0.5) + log_add(log_p(p, h), sum);
  }

  bool ranges_vary() const { return n_range > 0 && !range.atoms(); }

  static constexpr double sibling_sd = 0.7;  // on the log scale
  static constexpr double sibling_b = 0.8;   // how often b stays
};

}  // namespace treedgp
