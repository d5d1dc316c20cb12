// What the data say of a leaf given (d, b, g): the triangular factor of the whitened [F z] and log|K|.
// Everything about beta, sigma2 and the marginal likelihood follows from these in O(m^3).
// Where z has noise of its own, of variance nu_i, K stands for K + diag(nu / sigma2).
#pragma once
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "treedgp/kernel/buffer.hpp"
#include "treedgp/kernel/ops.hpp"
#include "treedgp/leaf/params.hpp"

namespace treedgp {

// Leaf inputs. x is scaled to about [0, 1].
struct LeafData {
  int n = 0, q = 0;
  bool linear_mean = true;
  kernel::Family family = kernel::Family::gaussian;
  Vector x;                 // (q, n): each column contiguous
  bool prior_only = false;  // leaves see no data: the chain then samples the prior

  int m() const { return linear_mean ? q + 1 : 1; }
  double design(int i, int j) const { return j == 0 ? 1.0 : x[static_cast<std::size_t>(j - 1) * n + i]; }
};

// What the leaves are fitted to.
struct Response {
  Vector z;      // (n)
  Vector noise;  // (n) variance nu_i of z_i besides the leaf's own; empty: none
};

// R of [F z] = L Q R, K = L L'. Its last column is z's.
struct Whitened {
  Matrix r;            // (m+1, m+1) upper triangular
  double log_det = 0;  // log|K|; NaN if K did not factorise
  int n = 0;
};

// The part that does not depend on g, so that a nugget move need not rebuild it.
struct Basis {
  kernel::Buffer kstar;  // GP leaf: K*, lower triangle in panels
  Matrix r;              // linear leaf without other noise: R for K = I
};
using BasisPtr = std::shared_ptr<const Basis>;

// Scratch memory.
struct KernelWorkspace {
  kernel::Buffer xs, noise, factor, extra;
  kernel::Buffer prior_factor;         // of a leaf's K without noise of the data
  double prior_log_det = 0;            // and log|K|
  std::shared_ptr<Basis> spare_basis;  // of a proposal that was dropped, for the memory of the next one
  long failed_factorisations = 0;
};

// Columns the correlation sees, scaled so that r^2 is a plain sum of squares: (dims, np). Returns dims.
inline int scale_inputs(const LeafData& data, const std::vector<int>& rows, const LeafParams& p, int np,
                        kernel::Buffer& xs) {
  xs.reserve(static_cast<std::size_t>(data.q) * np);
  int dims = 0;
  for (int c = 0; c < data.q; ++c) {
    const int i = p.d.size() == 1 ? 0 : c;
    if (!p.b[i]) continue;
    const double scale = data.family == kernel::Family::gaussian ? 1 / std::sqrt(p.d[i]) : 1 / p.d[i];
    const double* from = data.x.data() + static_cast<std::size_t>(c) * data.n;
    double* to = xs.data() + static_cast<std::size_t>(dims++) * np;
    for (std::size_t r = 0; r < rows.size(); ++r) to[r] = from[rows[r]] * scale;
    for (int r = static_cast<int>(rows.size()); r < np; ++r) to[r] = 0;
  }
  return dims;
}

// [F z]' as the first m + 1 extra rows of the factorisation; the rest of their panels is 0.
inline void write_design(const LeafData& data, const Vector& z, const std::vector<int>& rows, int np, int width,
                         double* extra) {
  const int m = data.m(), n = static_cast<int>(rows.size());
  std::fill_n(extra, kernel::extra_size(m + 1, np, width), 0.0);
  for (int j = 0; j <= m; ++j) {
    double* to = &kernel::extra_at(extra, np, width, j, 0);
    const double* from = j == m ? z.data() : data.x.data() + static_cast<std::size_t>(j - 1) * data.n;
    for (int i = 0; i < n; ++i) to[static_cast<std::size_t>(i) * width] = j == 0 ? 1.0 : from[rows[i]];
  }
}

// Diagonal of K - K*: g + nu_i / sigma2.
inline void fill_noise(const Response& response, const std::vector<int>& rows, int np, const LeafParams& p,
                       KernelWorkspace& ws) {
  const int n = static_cast<int>(rows.size());
  ws.noise.reserve(np);
  std::fill_n(ws.noise.data(), n, p.g);
  std::fill_n(ws.noise.data() + n, np - n, 0.0);
  if (!response.noise.empty())
    for (int i = 0; i < n; ++i) ws.noise.data()[i] += response.noise[rows[i]] / p.sigma2;
}

// [F z] of a leaf.
inline Matrix design_and_response(const LeafData& data, const Response& response, const std::vector<int>& rows) {
  Matrix fz(static_cast<int>(rows.size()), data.m() + 1);
  for (int j = 0; j < fz.cols; ++j)
    for (int i = 0; i < fz.rows; ++i) fz(i, j) = j < data.m() ? data.design(rows[i], j) : response.z[rows[i]];
  return fz;
}

inline BasisPtr make_basis(const LeafData& data, const Response& response, const std::vector<int>& rows,
                           const LeafParams& p, KernelWorkspace& ws) {
  auto basis = ws.spare_basis ? std::exchange(ws.spare_basis, nullptr) : std::make_shared<Basis>();
  const int n = static_cast<int>(rows.size());
  if (data.prior_only) return basis;
  if (p.linear()) {
    if (response.noise.empty()) basis->r = triangularise(design_and_response(data, response, rows));
  } else {
    const auto& ops = kernel::ops(n);
    const int np = kernel::panel_rows(n, ops.width);
    const int dims = scale_inputs(data, rows, p, np, ws.xs);
    basis->kstar.reserve(kernel::triangle_size(np, ops.width));
    ops.correlate(data.family, ws.xs.data(), dims, n, np, basis->kstar.data());
  }
  return basis;
}

// A linear leaf whose points have noise of their own: K is diagonal.
inline void whiten_noisy_linear(const LeafData& data, const Response& response, const std::vector<int>& rows,
                                const LeafParams& p, Whitened& out) {
  Matrix fz = design_and_response(data, response, rows);
  double log_det = 0;
  for (int i = 0; i < fz.rows; ++i) {
    const double k = 1 + p.g + response.noise[rows[i]] / p.sigma2, scale = 1 / std::sqrt(k);
    log_det += std::log(k);
    for (int j = 0; j < fz.cols; ++j) fz(i, j) *= scale;
  }
  const int n = fz.rows;
  out = {triangularise(std::move(fz)), log_det, n};
}

inline void whiten(const LeafData& data, const Response& response, const std::vector<int>& rows, const LeafParams& p,
                   const Basis& basis, KernelWorkspace& ws, Whitened& out) {
  const int n = static_cast<int>(rows.size()), size = data.m() + 1;
  if (p.linear() && !response.noise.empty() && !data.prior_only)
    return whiten_noisy_linear(data, response, rows, p, out);
  out.r.resize(size, size);
  out.log_det = 0;
  out.n = data.prior_only ? 0 : n;
  if (data.prior_only) return;
  if (p.linear()) {
    const double scale = 1 / std::sqrt(1 + p.g);
    for (std::size_t i = 0; i < out.r.values.size(); ++i) out.r.values[i] = basis.r.values[i] * scale;
    out.log_det = n * std::log1p(p.g);
    return;
  }
  const auto& ops = kernel::ops(n);
  const int np = kernel::panel_rows(n, ops.width);
  fill_noise(response, rows, np, p, ws);
  ws.factor.reserve(kernel::triangle_size(np, ops.width));
  const auto extra_size = kernel::extra_size(size, np, ops.width);
  ws.extra.reserve(extra_size);
  write_design(data, response.z, rows, np, ops.width, ws.extra.data());
  const int panels = kernel::panel_rows(size, ops.width) / ops.width;
  out.log_det = 2 * ops.factor(basis.kstar.data(), ws.noise.data(), np, ws.factor.data(), ws.extra.data(), panels);
  if (std::isnan(out.log_det)) {
    ++ws.failed_factorisations;
    return;
  }
  ops.orthogonalise(ws.extra.data(), np, size, out.r.values.data());
}

// The same, to the bit, for a GP leaf by ws.prior_factor.
inline void whiten_by_prior(const LeafData& data, const Response& response, const std::vector<int>& rows,
                            KernelWorkspace& ws, Whitened& out) {
  const int n = static_cast<int>(rows.size()), size = data.m() + 1;
  const auto& ops = kernel::ops(n);
  const int np = kernel::panel_rows(n, ops.width);
  ws.extra.reserve(kernel::extra_size(size, np, ops.width));
  write_design(data, response.z, rows, np, ops.width, ws.extra.data());
  ops.solve(ws.prior_factor.data(), np, ws.extra.data(), kernel::panel_rows(size, ops.width) / ops.width);
  out.r.resize(size, size);
  ops.orthogonalise(ws.extra.data(), np, size, out.r.values.data());
  out.log_det = ws.prior_log_det;
  out.n = n;
}

}  // namespace treedgp
