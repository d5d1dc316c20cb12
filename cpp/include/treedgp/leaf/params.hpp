// What a leaf carries through tree moves, and its prior.
#pragma once
#include "treedgp/prior/coefficients.hpp"
#include "treedgp/prior/inverse_gamma.hpp"
#include "treedgp/prior/limiting_prior.hpp"
#include "treedgp/prior/scalar_prior.hpp"

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
  ScalarPrior range, nugget;
  LimitingPrior limiting;
  bool tau2_random = true;  // tau2 ~ IG(a_tau/2, g_tau/2); else always `tau2_value`
  double tau2_value = 1;
  bool sigma2_explicit = false;  // moves condition on sigma2 ~ IG(a_sigma/2, g_sigma/2) instead of integrating it out

  double log_range(double d, bool b) const { return range.log_p(d) + limiting.log_p(b, d); }

  // All but sigma2.
  double log_p_shape(const LeafParams& p, const Hyper& h) const {
    double sum = nugget.log_p(p.g);
    for (int i = 0; i < n_range; ++i) sum += log_range(p.d[i], p.b[i]);
    return tau2_random ? sum + log_inverse_gamma(p.tau2, h.a_tau, h.g_tau) : sum;
  }

  double log_p(const LeafParams& p, const Hyper& h) const {
    return log_p_shape(p, h) + (sigma2_explicit ? log_inverse_gamma(p.sigma2, h.a_sigma, h.g_sigma) : 0);
  }

  template <class Rng>
  LeafParams draw(Rng& rng, const Hyper& h) const {
    LeafParams p;
    for (int i = 0; i < n_range; ++i) {
      p.d.push_back(range.draw(rng));
      p.b.push_back(limiting.draw(rng, p.d[i]));
    }
    p.g = nugget.draw(rng);
    p.tau2 = tau2_random ? 0.5 * h.g_tau / rng.gamma(0.5 * h.a_tau) : tau2_value;
    if (sigma2_explicit) p.sigma2 = 0.5 * h.g_sigma / rng.gamma(0.5 * h.a_sigma);
    return p;
  }
};

}  // namespace treedgp
