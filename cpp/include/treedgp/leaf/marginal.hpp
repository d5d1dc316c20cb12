// A leaf's coefficients and noise variance given the whitened data: their posterior, and the marginal
// likelihood with both integrated out.
#pragma once
#include <numbers>

#include "treedgp/leaf/whiten.hpp"

namespace treedgp {

// T of the least-squares problem of a proper prior: the prior is m more rows, w_root beta = w_root beta0, over
// sqrt(tau2). T(m, m)^2 is lambda, a sum of squares; the textbook difference loses every digit when the fit is
// nearly exact.
inline Matrix fold_prior(const Whitened& w, double tau2, const Hyper& h) {
  const int m = w.r.cols - 1;
  Matrix rows(m, m + 1);
  const double scale = 1 / std::sqrt(tau2);
  for (int j = 0; j < m; ++j)
    for (int i = 0; i <= j; ++i) {
      rows(i, j) = scale * h.w_root(i, j);
      rows(i, m) += rows(i, j) * h.beta0[j];
    }
  return fold_rows(w.r, std::move(rows));
}

// beta | sigma2, Z ~ N(mean, sigma2 V), V^-1 = T'T;  sigma2 | Z ~ IG((a_s + dof)/2, (g_s + lambda)/2)
struct CoefficientPosterior {
  Matrix root;        // T, the leading (m, m) upper triangle
  Vector mean;        // btilde (m)
  double lambda = 0;
  double dof = 0;     // n, less m under the flat prior
  bool ok = false;    // false: a factorisation failed, density zero
};

inline void coefficient_posterior(const Whitened& w, double tau2, CoefficientKind kind, const Hyper& h,
                                  CoefficientPosterior& post) {
  const int m = w.r.cols - 1;
  const bool flat = kind == CoefficientKind::flat;
  post.ok = false;
  if (std::isnan(w.log_det)) return;
  if (flat)
    post.root = w.r;
  else
    post.root = fold_prior(w, tau2, h);
  post.mean.resize(m);
  for (int i = 0; i < m; ++i) post.mean[i] = post.root(i, m);
  solve_upper(post.root, post.mean);
  post.lambda = post.root(m, m) * post.root(m, m);
  post.dof = w.n - (flat ? m : 0);
  post.ok = std::isfinite(post.lambda);
  for (double b : post.mean) post.ok = post.ok && std::isfinite(b);
}

inline CoefficientPosterior coefficient_posterior(const Whitened& w, double tau2, CoefficientKind kind,
                                                  const Hyper& h) {
  CoefficientPosterior post;
  coefficient_posterior(w, tau2, kind, h, post);
  return post;
}

// log of the integral over sigma2: what log p(Z | d, b, g, tau2) owes to (a_s, g_s). Between fits to the same rows only
// the first part differs.
inline double log_noise_fit(double lambda, double dof, double a, double g) {
  return -0.5 * (a + dof) * std::log(0.5 * (g + lambda));
}
inline double log_noise_scale(double a, double g) { return 0.5 * a * std::log(0.5 * g); }
inline double log_noise_shape(double dof, double a) { return log_gamma(0.5 * (a + dof)) - log_gamma(0.5 * a); }

// log p(Z | d, b, g, tau2, ...) with beta integrated out; `log_noise(lambda, dof)` is what it owes to sigma2.
// -inf where a factorisation failed.
template <class LogNoise>
double log_density(const Whitened& w, double tau2, CoefficientKind kind, const Hyper& h, LogNoise&& log_noise) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  if (std::isnan(w.log_det)) return -inf;
  const int m = w.r.cols - 1;
  const bool flat = kind == CoefficientKind::flat;
  const Matrix folded = flat ? Matrix() : fold_prior(w, tau2, h);
  const Matrix& root = flat ? w.r : folded;
  const double log_det_v = -2 * half_log_det(root, m), lambda = root(m, m) * root(m, m);
  const double log_det_prior = flat ? 0 : h.log_det_w + m * std::log(tau2);
  const double value = 0.5 * (log_det_v - w.n * std::log(2 * std::numbers::pi) - w.log_det - log_det_prior) +
                       log_noise(lambda, w.n - (flat ? m : 0));
  return std::isfinite(value) ? value : -inf;
}

// sigma2 integrated out too.
inline double log_marginal(const Whitened& w, double tau2, CoefficientKind kind, const Hyper& h) {
  return log_density(w, tau2, kind, h, [&](double lambda, double dof) {
    return log_noise_fit(lambda, dof, h.a_sigma, h.g_sigma) + log_noise_scale(h.a_sigma, h.g_sigma) +
           log_noise_shape(dof, h.a_sigma);
  });
}

// The same up to a constant of the rows and of (a_s, g_s): enough to compare parameters of a leaf, and far less work
// where rows are few.
inline double log_fit(const Whitened& w, double tau2, CoefficientKind kind, const Hyper& h) {
  return log_density(w, tau2, kind, h,
                     [&](double lambda, double dof) { return log_noise_fit(lambda, dof, h.a_sigma, h.g_sigma); });
}

// Given sigma2.
inline double log_marginal_given(const Whitened& w, double sigma2, double tau2, CoefficientKind kind, const Hyper& h) {
  return log_density(w, tau2, kind, h, [&](double lambda, double dof) {
    return -0.5 * (dof * std::log(sigma2) + lambda / sigma2);
  });
}

}  // namespace treedgp
