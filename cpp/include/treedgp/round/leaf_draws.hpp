// Gibbs draws of a leaf. The order sigma2 (beta integrated out), beta, tau2 matters: beta first would
// condition on a stale sigma2.
#pragma once
#include "treedgp/state/state.hpp"

namespace treedgp {

template <class Rng>
void draw_leaf(Leaf& leaf, const CoefficientPosterior& post, const Spec& spec, const Hyper& h, Rng& rng) {
  leaf.params.sigma2 = 0.5 * (h.g_sigma + post.lambda) / rng.gamma(0.5 * (h.a_sigma + post.dof));
  const int m = static_cast<int>(post.mean.size());
  leaf.beta.resize(m);
  for (double& e : leaf.beta) e = rng.normal() * std::sqrt(leaf.params.sigma2);
  solve_upper(post.root, leaf.beta);
  for (int i = 0; i < m; ++i) leaf.beta[i] += post.mean[i];
  if (!spec.leaf.tau2_random) return;
  const double rate = 0.5 * (h.g_tau + h.distance(leaf.beta) / leaf.params.sigma2);
  leaf.params.tau2 = rate / rng.gamma(0.5 * (h.a_tau + m));
}

}  // namespace treedgp
