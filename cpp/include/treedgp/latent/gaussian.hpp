// The latent of a leaf given noisy data, by Matheron's rule. With u ~ N(F beta0, C), C = sigma2 (K + tau2 F W F'),
// and e ~ N(0, nu),
//   f = u + C (C + nu)^-1 (y - u - e) = y - e - (nu / sigma2) x,   (K + nu / sigma2 + tau2 F W F') x = y - u - e
// has the law of f | y, beta integrated out.
#pragma once
#include <stdexcept>

#include "treedgp/kernel/triangle.hpp"
#include "treedgp/state/state.hpp"

namespace treedgp {

// Factor of the leaf's K, with the noise of `response`, into ws.factor; extra rows as the kernel wants them.
inline void factor_leaf(const Leaf& leaf, const Response& response, int n, double* extra, int panels, Workspace& ws) {
  const auto& ops = kernel::ops(n);
  const int np = kernel::panel_rows(n, ops.width);
  fill_noise(response, leaf.region->rows, np, leaf.params, ws);
  ws.factor.reserve(kernel::triangle_size(np, ops.width));
  if (std::isnan(ops.factor(leaf.basis->kstar.data(), ws.noise.data(), np, ws.factor.data(), extra, panels)))
    throw std::runtime_error("the correlation matrix of a leaf does not factorise");
}

// u ~ N(F beta0, sigma2 (K + tau2 F W F')) at the leaf's rows.
template <class Rng>
Vector draw_prior_latent(const Problem& problem, const Leaf& leaf, const Hyper& h, Workspace& ws, Rng& rng) {
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
    factor_leaf(leaf, {}, n, nullptr, 0, ws);
    Vector e(np), product(np);
    for (int i = 0; i < n; ++i) e[i] = rng.normal();
    kernel::multiply_lower(ws.factor.data(), W, np, e.data(), product.data());
    std::copy_n(product.begin(), n, u.begin());
  }
  for (int i = 0; i < n; ++i) {
    u[i] *= sigma;
    for (int j = 0; j < m; ++j) u[i] += problem.data.design(rows[i], j) * (h.beta0[j] + beta[j]);
  }
  return u;
}

// x of (K + nu / sigma2 + tau2 F W F') x = r, by the inverse of its first two terms and a correction of rank m.
inline Vector solve_noisy(const Problem& problem, const Leaf& leaf, const Response& response, const Vector& r,
                          const Hyper& h, Workspace& ws) {
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size()), m = problem.data.m();
  const bool linear = leaf.params.linear();
  const int W = kernel::ops(n).width, np = kernel::panel_rows(n, W);
  Matrix fr(n, m + 1);  // [F r], then L^-1 [F r]
  Vector scale(n);
  if (linear) {
    for (int i = 0; i < n; ++i) {
      scale[i] = 1 / std::sqrt(1 + leaf.params.g + response.noise[rows[i]] / leaf.params.sigma2);
      for (int j = 0; j <= m; ++j) fr(i, j) = scale[i] * (j < m ? problem.data.design(rows[i], j) : r[i]);
    }
  } else {
    Vector by_row(problem.data.n);
    for (int i = 0; i < n; ++i) by_row[rows[i]] = r[i];
    ws.extra.reserve(kernel::extra_size(m + 1, np, W));
    write_design(problem.data, by_row, rows, np, W, ws.extra.data());
    factor_leaf(leaf, response, n, ws.extra.data(), kernel::panel_rows(m + 1, W) / W, ws);
    for (int j = 0; j <= m; ++j)
      for (int i = 0; i < n; ++i) fr(i, j) = kernel::extra_at(ws.extra.data(), np, W, j, i);
  }

  // b = (W^-1 / tau2 + E'E)^-1 E'e for [E e] = L^-1 [F r]
  Matrix precision(m, m);
  Vector b(m);
  for (int j = 0; j < m; ++j)
    for (int k = 0; k <= m; ++k) {
      double dot = 0;
      for (int i = 0; i < n; ++i) dot += fr(i, j) * fr(i, k);
      (k < m ? precision(j, k) : b[j]) = dot + (k < m ? h.w_inv(j, k) / leaf.params.tau2 : 0);
    }
  if (!cholesky(precision)) throw std::runtime_error("the coefficients of a leaf have no posterior");
  solve_lower(precision, b);
  solve_lower_transposed(precision, b);

  Vector x(np);
  for (int i = 0; i < n; ++i) {
    x[i] = fr(i, m);
    for (int j = 0; j < m; ++j) x[i] -= fr(i, j) * b[j];
    if (linear) x[i] *= scale[i];
  }
  if (!linear) kernel::solve_lower_transposed(ws.factor.data(), W, np, x.data());
  x.resize(n);
  return x;
}

// f | y for every leaf of a layer whose response is y with noise: afterwards the response is f.
template <class Rng>
void draw_latent(Layer& layer, const Problem& problem, Workspace& ws, Rng& rng) {
  Vector f(problem.data.n);
  for (const Leaf& leaf : layer.leaves) {
    const auto& rows = leaf.region->rows;
    Vector r = draw_prior_latent(problem, leaf, layer.hyper, ws, rng), y_less_e(r.size());
    for (std::size_t i = 0; i < r.size(); ++i) {
      y_less_e[i] = layer.response.z[rows[i]] - std::sqrt(layer.response.noise[rows[i]]) * rng.normal();
      r[i] = y_less_e[i] - r[i];
    }
    const Vector x = solve_noisy(problem, leaf, layer.response, r, layer.hyper, ws);
    for (std::size_t i = 0; i < r.size(); ++i)
      f[rows[i]] = y_less_e[i] - layer.response.noise[rows[i]] / leaf.params.sigma2 * x[i];
  }
  layer.response = {std::move(f), {}};
}

}  // namespace treedgp
