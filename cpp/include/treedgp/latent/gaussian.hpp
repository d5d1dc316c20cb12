// The latent of a leaf given noisy data, by Matheron's rule. With u ~ N(F beta0, C), C = sigma2 (K + tau2 F W F'),
// and e ~ N(0, nu),
//   f = u + C (C + nu)^-1 (y - u - e) = y - e - (nu / sigma2) x,   (K + nu / sigma2 + tau2 F W F') x = y - u - e
// has the law of f | y, beta integrated out.
#pragma once
#include <numeric>
#include <stdexcept>

#include "treedgp/state/state.hpp"

namespace treedgp {

// F beta0 at the leaf's rows.
inline Vector prior_mean(const Problem& problem, const Leaf& leaf, const Hyper& h) {
  const auto& rows = leaf.region->rows;
  Vector mean(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (int j = 0; j < problem.data.m(); ++j) mean[i] += problem.data.design(rows[i], j) * h.beta0[j];
  return mean;
}

// z - F beta0 at the leaf's rows.
inline Vector residuals(const Problem& problem, const Leaf& leaf, const Vector& z, const Hyper& h) {
  Vector r = prior_mean(problem, leaf, h);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] = z[leaf.region->rows[i]] - r[i];
  return r;
}

// Factor of a GP leaf's K, with the noise of `response`. Returns log|K|.
inline double factor_leaf(const Leaf& leaf, const Response& response, Workspace& ws, kernel::Buffer& factor) {
  const int n = static_cast<int>(leaf.region->rows.size());
  const auto& ops = kernel::ops(n);
  const int np = kernel::panel_rows(n, ops.width);
  fill_noise(response, leaf.region->rows, np, leaf.params, ws);
  factor.reserve(kernel::triangle_size(np, ops.width));
  const double log_det = 2 * ops.factor(leaf.basis->kstar.data(), ws.noise.data(), np, factor.data(), nullptr, 0);
  if (std::isnan(log_det)) throw std::runtime_error(no_factor);
  return log_det;
}

// What an operation of the kernel with a factor makes of columns: `solve`, `solve_transposed` or `multiply`.
inline void change_columns(decltype(&kernel::Ops::solve) op, const kernel::Buffer& factor, Matrix& columns, Workspace& ws) {
  const int n = columns.rows;
  const auto& ops = kernel::ops(n);
  const int W = ops.width, np = kernel::panel_rows(n, W);
  const std::size_t size = kernel::extra_size(columns.cols, np, W);
  ws.extra.reserve(size);
  std::fill_n(ws.extra.data(), size, 0.0);
  auto at = [&](int i, int j) -> double& { return kernel::extra_at(ws.extra.data(), np, W, j, i); };
  for (int j = 0; j < columns.cols; ++j)
    for (int i = 0; i < n; ++i) at(i, j) = columns(i, j);
  (ops.*op)(factor.data(), np, ws.extra.data(), kernel::panel_rows(columns.cols, W) / W);
  for (int j = 0; j < columns.cols; ++j)
    for (int i = 0; i < n; ++i) columns(i, j) = at(i, j);
}

// What draws from the prior of a leaf's latent need.
inline void factor_prior(const Leaf& leaf, Workspace& ws) {
  if (!leaf.params.linear()) ws.prior_log_det = factor_leaf(leaf, {}, ws, ws.prior_factor);
}

// The leaf's data of its latent, which is the layer's response. After factor_prior().
inline void fit_to_latent(Leaf& leaf, const Problem& problem, const Layer& layer, Workspace& ws) {
  if (leaf.params.linear()) {
    fit_basis(leaf, problem, layer, ws);
    fit_data(leaf, problem, layer, ws);
  } else {
    whiten_by_prior(problem.data, layer.response, leaf.region->rows, ws, leaf.data);
    ws.recycle(leaf.factor);
  }
}

// Draws of N(0, K) at the leaf's rows as columns, after factor_prior().
template <class Rng>
Matrix draw_correlated(const Leaf& leaf, int draws, Workspace& ws, Rng& rng) {
  const int n = static_cast<int>(leaf.region->rows.size());
  Matrix u(n, draws);
  for (double& v : u.values) v = rng.normal();
  if (leaf.params.linear()) {
    for (double& v : u.values) v *= std::sqrt(1 + leaf.params.g);
  } else {
    change_columns(&kernel::Ops::multiply, ws.prior_factor, u, ws);
  }
  return u;
}

// Columns of u ~ N(F beta0, sigma2 (K + tau2 F W F')) at the leaf's rows, after factor_prior().
template <class Rng>
Matrix draw_prior_latents(const Problem& problem, const Leaf& leaf, int draws, const Hyper& h, Workspace& ws, Rng& rng) {
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size()), m = problem.data.m();
  const double sigma = std::sqrt(leaf.params.sigma2);
  Matrix u = draw_correlated(leaf, draws, ws, rng);
  for (int k = 0; k < draws; ++k) {
    Vector beta(m);
    for (double& b : beta) b = sigma * std::sqrt(leaf.params.tau2) * rng.normal();
    solve_upper(h.w_root, beta);
    for (int i = 0; i < n; ++i) {
      u(i, k) *= sigma;
      for (int j = 0; j < m; ++j) u(i, k) += problem.data.design(rows[i], j) * (h.beta0[j] + beta[j]);
    }
  }
  return u;
}

// X of (K + nu / sigma2 + tau2 F W F') X = R, by the inverse of its first two terms and a correction of rank m.
// `factor`: of these two, for a GP leaf.
inline Matrix solve_noisy(const Problem& problem, const Leaf& leaf, const Response& response, const kernel::Buffer* factor,
                          const Matrix& r, const Hyper& h, Workspace& ws) {
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size()), m = problem.data.m(), cols = m + r.cols;
  const bool linear = leaf.params.linear();
  Matrix fr(n, cols);  // [F R], then L^-1 [F R]
  Vector scale(n);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < cols; ++j) fr(i, j) = j < m ? problem.data.design(rows[i], j) : r(i, j - m);
  if (linear) {
    for (int i = 0; i < n; ++i) {
      scale[i] = 1 / std::sqrt(1 + leaf.params.g + response.noise[rows[i]] / leaf.params.sigma2);
      for (int j = 0; j < cols; ++j) fr(i, j) *= scale[i];
    }
  } else {
    change_columns(&kernel::Ops::solve, *factor, fr, ws);
  }
  auto dot = [&](int j, int k) { return std::inner_product(&fr(0, j), &fr(0, j) + n, &fr(0, k), 0.0); };

  Matrix precision(m, m), x(n, r.cols);  // W^-1 / tau2 + E'E for [E S] = L^-1 [F R]
  for (int j = 0; j < m; ++j)
    for (int k = 0; k < m; ++k) precision(j, k) = dot(j, k) + h.w_inv(j, k) / leaf.params.tau2;
  if (!cholesky(precision)) throw std::runtime_error("the coefficients of a leaf have no posterior");
  Vector b(m);
  for (int k = 0; k < r.cols; ++k) {
    for (int j = 0; j < m; ++j) b[j] = dot(j, m + k);
    solve_lower(precision, b);
    solve_lower_transposed(precision, b);
    for (int i = 0; i < n; ++i) {
      x(i, k) = fr(i, m + k);
      for (int j = 0; j < m; ++j) x(i, k) -= fr(i, j) * b[j];
      if (linear) x(i, k) *= scale[i];
    }
  }
  if (!linear) change_columns(&kernel::Ops::solve_transposed, *factor, x, ws);
  return x;
}

// Columns: the mean of f | y, which is what draws without u and e give, then draws of f | y. After factor_prior();
// `factor` as in solve_noisy().
template <class Rng>
Matrix mean_and_draws(const Problem& problem, const Leaf& leaf, const Response& response, const kernel::Buffer* factor,
                      int draws, const Hyper& h, Workspace& ws, Rng& rng) {
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size());
  Matrix f(n, 1 + draws), r(n, 1 + draws);  // y - e, then f; y - u - e
  const Vector mean = prior_mean(problem, leaf, h);
  const Matrix u = draw_prior_latents(problem, leaf, draws, h, ws, rng);
  for (int i = 0; i < n; ++i) {
    f(i, 0) = response.z[rows[i]];
    r(i, 0) = f(i, 0) - mean[i];
  }
  for (int k = 1; k <= draws; ++k)
    for (int i = 0; i < n; ++i) {
      f(i, k) = response.z[rows[i]] - std::sqrt(response.noise[rows[i]]) * rng.normal();
      r(i, k) = f(i, k) - u(i, k - 1);
    }
  const Matrix x = solve_noisy(problem, leaf, response, factor, r, h, ws);
  for (int k = 0; k <= draws; ++k)
    for (int i = 0; i < n; ++i) f(i, k) -= response.noise[rows[i]] / leaf.params.sigma2 * x(i, k);
  return f;
}

// f | y in a leaf, for the layer's response, by the leaf's fit to y. After factor_prior().
template <class Rng>
void draw_latent(Layer& layer, const Leaf& leaf, const Response& y, const Problem& problem, Workspace& ws, Rng& rng) {
  const Matrix drawn = mean_and_draws(problem, leaf, y, leaf.factor.get(), 1, layer.hyper, ws, rng);
  const auto& rows = leaf.region->rows;
  for (std::size_t i = 0; i < rows.size(); ++i) layer.response.z[rows[i]] = drawn(static_cast<int>(i), 1);
}

// Of the inverse of a GP leaf's K + nu / sigma2: its diagonal, and its products with the columns of `b`.
inline Matrix diagonal_and_solutions(const Leaf& leaf, const Response& response, Matrix b, Workspace& ws) {
  const int n = b.rows, W = kernel::ops(n).width, np = kernel::panel_rows(n, W);
  factor_leaf(leaf, response, ws, ws.factor);
  change_columns(&kernel::Ops::solve, ws.factor, b, ws);  // L^-1 b
  Matrix out(np, 1 + b.cols);
  ws.extra.reserve(kernel::extra_size(np, np, W));
  kernel::ops(n).invert(ws.factor.data(), np, ws.extra.data());
  for (int first = 0; first < np; first += W)
    for (int k = first; k < n; ++k) {
      const double* row = &kernel::extra_at(ws.extra.data(), np, W, first, k);
      for (int w = 0; w < W; ++w) out(first + w, 0) += row[w] * row[w];
      for (int j = 0; j < b.cols; ++j)
        for (int w = 0; w < W; ++w) out(first + w, 1 + j) += row[w] * b(k, j);
    }
  return out;
}

// Mean and variance of each latent of a leaf given noisy data. With Q = (K + nu / sigma2 + tau2 F W F')^-1 they are
// y_i - (nu_i / sigma2) (Q (y - F beta0))_i and nu_i (1 - (nu_i / sigma2) Q_ii).
inline Matrix latent_moments(const Problem& problem, const Leaf& leaf, const Response& response, const Hyper& h,
                             Workspace& ws) {
  const auto& rows = leaf.region->rows;
  const int n = static_cast<int>(rows.size()), m = problem.data.m();
  const double sigma2 = leaf.params.sigma2;
  const Vector v = residuals(problem, leaf, response.z, h);
  Matrix b(n, m + 1), x(n, m + 2);  // [F v]; without the third term of Q^-1: the diagonal of Q, Q [F v]
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= m; ++j) b(i, j) = j < m ? problem.data.design(rows[i], j) : v[i];
  if (!leaf.params.linear()) {
    x = diagonal_and_solutions(leaf, response, b, ws);
  } else {
    for (int i = 0; i < n; ++i) {
      x(i, 0) = 1 / (1 + leaf.params.g + response.noise[rows[i]] / sigma2);
      for (int j = 0; j <= m; ++j) x(i, 1 + j) = x(i, 0) * b(i, j);
    }
  }

  Matrix a(m, m), out(n, 2);  // W^-1 / tau2 + F' K^-1 F
  Vector bv(m), row(m);
  for (int j = 0; j < m; ++j) {
    auto product = [&](int k) { return std::inner_product(&b(0, j), &b(0, j) + n, &x(0, 1 + k), 0.0); };
    for (int k = 0; k < m; ++k) a(j, k) = h.w_inv(j, k) / leaf.params.tau2 + product(k);
    bv[j] = product(m);
  }
  if (!cholesky(a)) throw std::runtime_error("the coefficients of a leaf have no posterior");
  solve_lower(a, bv);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < m; ++j) row[j] = x(i, 1 + j);
    solve_lower(a, row);
    double q = x(i, 0), r = x(i, 1 + m);
    for (int j = 0; j < m; ++j) {
      q -= row[j] * row[j];
      r -= row[j] * bv[j];
    }
    const double noise = response.noise[rows[i]];
    out(i, 0) = response.z[rows[i]] - noise / sigma2 * r;
    out(i, 1) = noise * (1 - noise / sigma2 * q);
  }
  return out;
}

}  // namespace treedgp
