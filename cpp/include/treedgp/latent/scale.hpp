// LATENT SCALE: the latents of leaves, less their prior mean, times c, and sigma2 times c^2. The law of the latents given
// sigma2 stays as it is, so the labels and the prior of sigma2 decide. Without it the amplitude of latents crawls:
// labels that are well separated say little of it, yet given the latents sigma2 is sharply known, and given sigma2 they.
#pragma once
#include "treedgp/latent/metropolis.hpp"

namespace treedgp {

// Scales the latents of leaves in `f`. Returns the change of the log prior of their sigma2, whose scale becomes g_next.
inline double scale_leaves(std::span<const Leaf> leaves, double c, double g_next, const Problem& problem, const Hyper& h,
                           Vector& f) {
  double log_prior = 0;
  for (const Leaf& leaf : leaves) {
    const double sigma2 = leaf.params.sigma2;
    log_prior += log_inverse_gamma(c * c * sigma2, h.a_sigma, g_next) - log_inverse_gamma(sigma2, h.a_sigma, h.g_sigma);
    const auto& rows = leaf.region->rows;
    const Vector mean = prior_mean(problem, leaf, h);
    for (std::size_t i = 0; i < rows.size(); ++i) f[rows[i]] = mean[i] + c * (f[rows[i]] - mean[i]);
  }
  return log_prior;
}

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
  ratio.params_prior += scale_leaves(leaves, c, g_next, problem, h, scaled);
  for (const Leaf& leaf : leaves)
    for (int i : leaf.region->rows)
      ratio.likelihood += log_label(problem, layers, m, i, scaled[i]) - log_label(problem, layers, m, i, layer.response.z[i]);
  if (!accept(ratio, anneal, rng)) return false;
  for (Leaf& leaf : leaves) leaf.params.sigma2 *= c * c;
  h.g_sigma = g_next;
  layer.response.z = std::move(scaled);
  return true;
}

// All classes by one c, which leaves the borders between them where they are.
template <class Rng>
bool scale_classes(Trees& trees, const Problem& problem, Workspace& ws, Rng& rng) {
  const InverseGammaPrior& prior = problem.spec.sigma2;
  const double log_c = std::ldexp(rng.normal(), -rng.pick(5)), c = std::exp(log_c);  // every size, lest one need tuning
  const double g_factor = prior.learn_g ? c * c : 1;
  const auto layers = latents(trees);
  LogRatio ratio{.likelihood = -log_labels(problem.classes, layers)};
  std::vector<Vector> before;
  for (State& s : trees)
    for (Layer& layer : s.layers) {
      const Hyper& h = layer.hyper;
      before.push_back(layer.response.z);
      ratio.log_jacobian += 2 * log_c * (layer.leaves.size() + prior.learn_g);
      if (prior.learn_g) ratio.params_prior += prior.log_kernel(h.a_sigma, g_factor * h.g_sigma) - prior.log_kernel(h.a_sigma, h.g_sigma);
      ratio.params_prior += scale_leaves(layer.leaves, c, g_factor * h.g_sigma, problem, h, layer.response.z);
    }
  ratio.likelihood += log_labels(problem.classes, layers);
  const bool accepted = accept(ratio, 1, rng);
  std::size_t m = 0;
  for (State& s : trees)
    for (Layer& layer : s.layers) {
      if (!accepted) {
        layer.response.z = std::move(before[m++]);
        continue;
      }
      for (Leaf& leaf : layer.leaves) leaf.params.sigma2 *= c * c;
      layer.hyper.g_sigma *= g_factor;
      if (s.layers.size() > 1) refit(layer, problem, ws);  // the turns of other classes see it
    }
  return accepted;
}

}  // namespace treedgp
