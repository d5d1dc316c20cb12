// LATENT SCALE: the latents of leaves, less their prior mean, times c, and sigma2 times c^2. The law of the latents given
// sigma2 stays as it is, so the labels and the prior of sigma2 decide. Without it the amplitude of latents crawls:
// labels that are well separated say little of it, yet given the latents sigma2 is sharply known, and given sigma2 they.
#pragma once
#include "treedgp/latent/metropolis.hpp"

namespace treedgp {

// `with_hyper`: leaves are all of the layer's, and the scale g of their sigma2's prior goes along.
template <class Rng>
bool scale_latents(Layer& layer, std::span<Leaf> leaves, bool with_hyper, int m, const std::vector<const Layer*>& layers,
                   const Problem& problem, double anneal, Rng& rng) {
  Hyper& h = layer.hyper;
  const double log_c = std::exp(layer.log_step[latent_scale_step]) * rng.normal(), c = std::exp(log_c);
  const double g_next = with_hyper ? c * c * h.g_sigma : h.g_sigma;
  LogRatio ratio{.log_jacobian = 2 * log_c * (leaves.size() + with_hyper)};  // that of latents cancels their density
  if (with_hyper)
    ratio.params_prior = problem.spec.sigma2.log_kernel(h.a_sigma, g_next) - problem.spec.sigma2.log_kernel(h.a_sigma, h.g_sigma);
  Vector scaled(layer.response.z);
  for (const Leaf& leaf : leaves) {
    const auto& rows = leaf.region->rows;
    const double sigma2 = leaf.params.sigma2;
    ratio.params_prior += log_inverse_gamma(c * c * sigma2, h.a_sigma, g_next) - log_inverse_gamma(sigma2, h.a_sigma, h.g_sigma);
    const Vector mean = prior_mean(problem, leaf, h);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double f = layer.response.z[rows[i]];
      scaled[rows[i]] = mean[i] + c * (f - mean[i]);
      ratio.likelihood += log_label(problem, layers, m, rows[i], scaled[rows[i]]) - log_label(problem, layers, m, rows[i], f);
    }
  }
  if (!accept(ratio, anneal, rng)) return false;
  for (Leaf& leaf : leaves) leaf.params.sigma2 *= c * c;
  h.g_sigma = g_next;
  layer.response.z = std::move(scaled);
  return true;
}

}  // namespace treedgp
