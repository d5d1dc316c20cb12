// LATENT SCALE: the latents of a leaf, less their prior mean, times c, and sigma2 times c^2. The law of the latents given
// sigma2 stays as it is, so the labels and the prior of sigma2 decide. Without it the amplitude of latents crawls:
// labels that are well separated say little of it, yet given the latents sigma2 is sharply known, and given sigma2 they.
#pragma once
#include "treedgp/latent/metropolis.hpp"

namespace treedgp {

template <class Rng>
bool scale_latent(Layer& layer, Leaf& leaf, int m, const std::vector<const Layer*>& layers, const Problem& problem,
                  double anneal, Rng& rng) {
  const auto& rows = leaf.region->rows;
  const Hyper& h = layer.hyper;
  const double log_c = std::exp(layer.log_step[latent_scale_step]) * rng.normal(), c = std::exp(log_c);
  const double sigma2 = leaf.params.sigma2;
  LogRatio ratio{.params_prior = log_inverse_gamma(c * c * sigma2, h.a_sigma, h.g_sigma) -
                                 log_inverse_gamma(sigma2, h.a_sigma, h.g_sigma),
                 .log_jacobian = 2 * log_c};  // of sigma2; that of the latents cancels their density
  const Vector mean = prior_mean(problem, leaf, h);
  Vector scaled(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double f = layer.response.z[rows[i]];
    scaled[i] = mean[i] + c * (f - mean[i]);
    ratio.likelihood += log_label(problem, layers, m, rows[i], scaled[i]) - log_label(problem, layers, m, rows[i], f);
  }
  if (!accept(ratio, anneal, rng)) return false;
  leaf.params.sigma2 *= c * c;
  for (std::size_t i = 0; i < rows.size(); ++i) layer.response.z[rows[i]] = scaled[i];
  return true;
}

}  // namespace treedgp
