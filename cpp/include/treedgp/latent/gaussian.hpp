// The latent of a leaf given noisy data, by Matheron's rule. With u ~ N(F beta0, C), C = sigma2 (K + tau2 F W F'),
// and e ~ N(0, nu),
//   f = u + C (C + nu)^-1 (y - u - e) = y - e - (nu / sigma2) x,   (K + nu / sigma2 + tau2 F W F') x = y - u - e
// has the law of f | y, beta integrated out.
#pragma once
#include <numeric>
#include <stdexcept>

#include "treedgp/kernel/triangle.hpp"
#include "treedgp/latent/precision.hpp"

namespace treedgp {

// Factor of the leaf's K, with the noise of `response`; extra rows as the kernel wants them.
inline void factor_leaf(const Leaf& leaf, const Response& response, double* extra, int panels, Workspace& ws,
                        kernel::Buffer& factor) {
  const int n = static_cast<int>(leaf.region->rows.size());
  const auto& ops = kernel::ops(n);
  const int np = kernel::panel_rows(n, ops.width);
  fill_noise(response, leaf.region->rows, np, leaf.params, ws);
  factor.reserve(kernel::triangle_size(np, ops.width));
  if (std::isnan(ops.factor(leaf.basis->kstar.data(), ws.noise.data(), np, factor.data(), extra, panels)))
    throw std::runtime_error("the correlation matrix of a leaf does not factorise");
}

// What draws from the prior of a leaf's latent need.
inline void factor_prior(const Leaf& leaf, Workspace& ws) {
  if (!leaf.params.linear()) factor_leaf(leaf, {}, nullptr, 0, ws, ws.prior_factor);
}

// u ~ N(F beta0, sigma2 (K + tau2 F W F')) at the leaf's rows, after factor_prior().
template <class Rng>
Vector draw_prior_latent(const Problem& problem, const Leaf& leaf, const Hyper& h, const Workspace& ws, Rng& rng) {
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size()), m = problem.data.m();
  const double sigma = std::sqrt(leaf.params.sigma2);
  Vector beta(m);
  for (double& b : beta) b = sigma * std::sqrt(leaf.params.tau2) * rng.normal();
  solve_upper(h.w_root, beta);

  Vector u(n);
  if (leaf.params.linear()) {
    for (double& v : u) v = std::sqrt(1 + leaf.params.g) * rng.normal();
  } else {
    const int W = kernel::ops(n).width, np = kernel::panel_rows(n, W);
    Vector e(np), product(np);
    for (int i = 0; i < n; ++i) e[i] = rng.normal();
    kernel::multiply_lower(ws.prior_factor.data(), W, np, e.data(), product.data());
    std::copy_n(product.begin(), n, u.begin());
  }
  for (int i = 0; i < n; ++i) {
    u[i] *= sigma;
    for (int j = 0; j < m; ++j) u[i] += problem.data.design(rows[i], j) * (h.beta0[j] + beta[j]);
  }
  return u;
}

// X of (K + nu / sigma2 + tau2 F W F') X = R, by the inverse of its first two terms and a correction of rank m.
inline Matrix solve_noisy(const Problem& problem, const Leaf& leaf, const Response& response, const Matrix& r,
                          const Hyper& h, Workspace& ws) {
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size()), m = problem.data.m(), cols = m + r.cols;
  const bool linear = leaf.params.linear();
  const int W = kernel::ops(n).width, np = kernel::panel_rows(n, W);
  auto right_side = [&](int i, int j) { return j < m ? problem.data.design(rows[i], j) : r(i, j - m); };
  Matrix fr(n, cols);  // L^-1 [F R]
  Vector scale(n);
  if (linear) {
    for (int i = 0; i < n; ++i) {
      scale[i] = 1 / std::sqrt(1 + leaf.params.g + response.noise[rows[i]] / leaf.params.sigma2);
      for (int j = 0; j < cols; ++j) fr(i, j) = scale[i] * right_side(i, j);
    }
  } else {
    const std::size_t size = kernel::extra_size(cols, np, W);
    ws.extra.reserve(size);
    std::fill_n(ws.extra.data(), size, 0.0);
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < n; ++i) kernel::extra_at(ws.extra.data(), np, W, j, i) = right_side(i, j);
    factor_leaf(leaf, response, ws.extra.data(), kernel::panel_rows(cols, W) / W, ws, ws.factor);
    for (int j = 0; j < cols; ++j)
      for (int i = 0; i < n; ++i) fr(i, j) = kernel::extra_at(ws.extra.data(), np, W, j, i);
  }
  auto dot = [&](int j, int k) { return std::inner_product(&fr(0, j), &fr(0, j) + n, &fr(0, k), 0.0); };

  Matrix precision(m, m), x(n, r.cols);  // W^-1 / tau2 + E'E for [E S] = L^-1 [F R]
  for (int j = 0; j < m; ++j)
    for (int k = 0; k < m; ++k) precision(j, k) = dot(j, k) + h.w_inv(j, k) / leaf.params.tau2;
  if (!cholesky(precision)) throw std::runtime_error("the coefficients of a leaf have no posterior");
  Vector b(m), column(np);
  for (int k = 0; k < r.cols; ++k) {
    for (int j = 0; j < m; ++j) b[j] = dot(j, m + k);
    solve_lower(precision, b);
    solve_lower_transposed(precision, b);
    std::fill(column.begin(), column.end(), 0.0);
    for (int i = 0; i < n; ++i) {
      column[i] = fr(i, m + k);
      for (int j = 0; j < m; ++j) column[i] -= fr(i, j) * b[j];
      if (linear) column[i] *= scale[i];
    }
    if (!linear) kernel::solve_lower_transposed(ws.factor.data(), W, np, column.data());
    std::copy_n(column.begin(), n, &x(0, k));
  }
  return x;
}

// Columns: the mean of f | y, which is what draws without u and e give, then draws of f | y. After factor_prior().
template <class Rng>
Matrix mean_and_draws(const Problem& problem, const Leaf& leaf, const Response& response, int draws, const Hyper& h,
                      Workspace& ws, Rng& rng) {
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size());
  Matrix f(n, 1 + draws), r(n, 1 + draws);  // y - e, then f; y - u - e
  for (int k = 0; k <= draws; ++k) {
    const Vector u = k == 0 ? prior_mean(problem, leaf, h) : draw_prior_latent(problem, leaf, h, ws, rng);
    for (int i = 0; i < n; ++i) {
      f(i, k) = response.z[rows[i]] - (k == 0 ? 0 : std::sqrt(response.noise[rows[i]]) * rng.normal());
      r(i, k) = f(i, k) - u[i];
    }
  }
  const Matrix x = solve_noisy(problem, leaf, response, r, h, ws);
  for (int k = 0; k <= draws; ++k)
    for (int i = 0; i < n; ++i) f(i, k) -= response.noise[rows[i]] / leaf.params.sigma2 * x(i, k);
  return f;
}

// f | y in a leaf, for the layer's response. After factor_prior().
template <class Rng>
void draw_latent(Layer& layer, const Leaf& leaf, const Response& y, const Problem& problem, Workspace& ws, Rng& rng) {
  const Matrix drawn = mean_and_draws(problem, leaf, y, 1, layer.hyper, ws, rng);
  const auto& rows = leaf.region->rows;
  for (std::size_t i = 0; i < rows.size(); ++i) layer.response.z[rows[i]] = drawn(static_cast<int>(i), 1);
}

}  // namespace treedgp
