// Prior of a leaf's coefficients: beta ~ N(beta0, sigma2 tau2 W), or flat with density (2 pi)^(-m/2).
#pragma once
#include <numbers>

#include "treedgp/linalg/small.hpp"
#include "treedgp/linalg/special.hpp"

namespace treedgp {

enum class CoefficientKind {
  hierarchical,  // beta0 ~ N(0, I), W^-1 ~ Wish((rho V0)^-1, rho), V0 = 2I, rho = m + 1
  flat,
  fixed  // beta0 = 0, W = I
};

constexpr double wishart_v0 = 2;
inline double wishart_dof(int m) { return m + 1; }

// Values shared by all leaves. Learned ones are drawn once a round.
struct Hyper {
  Vector beta0;  // (m)
  Matrix w_inv;  // (m, m)
  Matrix w_root;  // (m, m) upper triangular, W^-1 = w_root' w_root
  double log_det_w = 0;
  double a_sigma = 0, g_sigma = 0, a_tau = 0, g_tau = 0;

  // False, and nothing changed, if the value is not numerically positive definite.
  bool set_w_inv(Matrix value) {
    Matrix factor = value;
    if (!cholesky(factor)) return false;
    const int m = value.rows;
    w_root = Matrix(m, m);
    for (int j = 0; j < m; ++j)
      for (int i = 0; i <= j; ++i) w_root(i, j) = factor(j, i);
    log_det_w = -2 * half_log_det(factor, m);
    w_inv = std::move(value);
    return true;
  }

  // (beta - beta0)' W^-1 (beta - beta0)
  double distance(const Vector& beta) const {
    double sum = 0;
    for (int i = 0; i < w_root.rows; ++i) {
      double v = 0;
      for (int j = i; j < w_root.cols; ++j) v += w_root(i, j) * (beta[j] - beta0[j]);
      sum += v * v;
    }
    return sum;
  }
};

// log N(beta0; 0, I) + log Wish(W^-1; (rho V0)^-1, rho)
inline double log_coefficient_hyperprior(const Hyper& h) {
  const int m = static_cast<int>(h.beta0.size());
  const double rho = wishart_dof(m), scale = rho * wishart_v0;
  double trace = 0, log_multigamma = 0.25 * m * (m - 1) * std::log(std::numbers::pi);
  for (int i = 0; i < m; ++i) {
    trace += h.w_inv(i, i);
    log_multigamma += log_gamma(0.5 * (rho - i));
  }
  const double log_normal = -0.5 * (m * std::log(2 * std::numbers::pi) + squared_norm(h.beta0));
  const double log_wishart = -0.5 * (rho - m - 1) * h.log_det_w - 0.5 * scale * trace -
                             0.5 * rho * m * (std::numbers::ln2 - std::log(scale)) - log_multigamma;
  return log_normal + log_wishart;
}

}  // namespace treedgp
