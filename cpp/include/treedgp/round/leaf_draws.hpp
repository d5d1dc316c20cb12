// Gibbs draws of a leaf. The order sigma2 (beta integrated out), beta, tau2 matters: beta first would
// condition on a stale sigma2.
#pragma once
#include "treedgp/state/state.hpp"

namespace treedgp {

template <class Rng>
void draw_leaf(Leaf& leaf, const CoefficientPosterior& post, const Spec& spec, const Hyper& h, Rng& rng) {
  leaf.sigma2 = 0.5 * (h.g_sigma + post.lambda) / rng.gamma(0.5 * (h.a_sigma + post.dof));
  const int m = static_cast<int>(post.mean.size());
  for (double& e : leaf.beta) e = rng.normal() * std::sqrt(leaf.sigma2);
  solve_lower_transposed(post.v_inv_factor, leaf.beta);
  for (int i = 0; i < m; ++i) leaf.beta[i] += post.mean[i];
  if (!spec.leaf.tau2_random) return;
  Vector shift = leaf.beta;
  for (int i = 0; i < m; ++i) shift[i] -= h.beta0[i];
  const double rate = 0.5 * (h.g_tau + bilinear(shift, h.w_inv, shift) / leaf.sigma2);
  leaf.params.tau2 = rate / rng.gamma(0.5 * (h.a_tau + m));
}

}  // namespace treedgp
