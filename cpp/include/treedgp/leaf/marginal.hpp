// A leaf's coefficients and noise variance given the whitened data: their posterior, and the marginal
// likelihood with both integrated out.
#pragma once
#include <numbers>

#include "treedgp/leaf/whiten.hpp"

namespace treedgp {

// beta | sigma2, Z ~ N(mean, sigma2 V);  sigma2 | Z ~ IG((a_s + dof)/2, (g_s + lambda)/2)
struct CoefficientPosterior {
  Matrix v_inv_factor;  // (m, m) lower, V^-1 = L L'
  Vector mean;          // btilde (m)
  double lambda = 0;
  double dof = 0;       // n, less m under the flat prior
  bool ok = false;      // false: a factorisation failed, density zero
};

inline CoefficientPosterior coefficient_posterior(const Whitened& w, double tau2, CoefficientKind kind,
                                                  const Hyper& h) {
  const int m = w.r.cols - 1;
  const bool proper = kind != CoefficientKind::flat;
  CoefficientPosterior post{Matrix(m, m), Vector(m), 0, static_cast<double>(w.n - (proper ? 0 : m)), false};
  if (std::isnan(w.log_det)) return post;

  Matrix& a = post.v_inv_factor;  // F'K^-1F + W^-1/tau2
  Vector& rhs = post.mean;        // F'K^-1Z + W^-1 beta0/tau2
  for (int j = 0; j < m; ++j) {
    for (int i = j; i < m; ++i) {
      double sum = proper ? h.w_inv(i, j) / tau2 : 0;
      for (int t = 0; t <= j; ++t) sum += w.r(t, i) * w.r(t, j);
      a(i, j) = sum;
    }
    for (int t = 0; t <= j; ++t) rhs[j] += w.r(t, j) * w.r(t, m);
    if (proper)
      for (int i = 0; i < m; ++i) rhs[j] += h.w_inv(j, i) * h.beta0[i] / tau2;
  }
  if (!cholesky(a)) return post;
  solve_lower(a, rhs);
  solve_lower_transposed(a, rhs);

  // The residual form: the subtraction form loses every digit when the fit is nearly exact.
  post.lambda = w.r(m, m) * w.r(m, m);
  for (int i = 0; i < m; ++i) {
    double residual = w.r(i, m);
    for (int j = i; j < m; ++j) residual -= w.r(i, j) * post.mean[j];
    post.lambda += residual * residual;
  }
  if (proper) {
    Vector shift = post.mean;
    for (int i = 0; i < m; ++i) shift[i] -= h.beta0[i];
    post.lambda += bilinear(shift, h.w_inv, shift) / tau2;
  }
  post.ok = std::isfinite(post.lambda);
  return post;
}

// log of the integral over sigma2: what log p(Z | d, b, g, tau2) owes to (a_s, g_s).
inline double log_noise_integral(const CoefficientPosterior& post, double a, double g) {
  const double shape = 0.5 * (a + post.dof);
  return 0.5 * a * std::log(0.5 * g) - shape * std::log(0.5 * (g + post.lambda)) + log_gamma(shape) -
         log_gamma(0.5 * a);
}

// log p(Z | d, b, g, tau2), beta and sigma2 integrated out; -inf where a factorisation failed.
inline double log_marginal(const Whitened& w, double tau2, CoefficientKind kind, const Hyper& h) {
  const CoefficientPosterior post = coefficient_posterior(w, tau2, kind, h);
  if (!post.ok) return -std::numeric_limits<double>::infinity();
  const int m = w.r.cols - 1;
  const double log_det_v = -2 * half_log_det(post.v_inv_factor);
  const double log_prior_det = kind == CoefficientKind::flat ? 0 : h.log_det_w + m * std::log(tau2);
  return 0.5 * (log_det_v - w.n * std::log(2 * std::numbers::pi) - w.log_det - log_prior_det) +
         log_noise_integral(post, h.a_sigma, h.g_sigma);
}

}  // namespace treedgp
