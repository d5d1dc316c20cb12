// The predictive law of one leaf at new points, given its parameters: beta integrated out, sigma2 as drawn.
//   GP:      mean f'bt + v'(e_z - E_F bt),  var f / sigma2 = 1 - v'v + r'V r,  v = L^-1 k(x), r = f - E_F'v
//   linear:  mean f'bt,                     var f / sigma2 = f'V f
// where E = L^-1 [F z]. A new observation adds sigma2 g (GP) or sigma2 (1 + g) (linear).
#pragma once
#include <stdexcept>

#include "treedgp/state/state.hpp"

namespace treedgp {

struct NewRows {
  int n = 0;
  std::vector<std::int32_t> code;  // (n_columns, n)
  LeafData leaf;                   // x (q, n); no response
};

class LeafPredictor {
 public:
  // Rows `at` of `fresh` fall in this leaf, whose training rows are `rows`.
  LeafPredictor(const Problem& problem, const Response& response, const std::vector<int>& rows,
                const LeafParams& params, const Hyper& hyper, const NewRows& fresh, const std::vector<int>& at, Workspace& ws)
      : data_(problem.data), params_(params), sigma2_(params.sigma2), fresh_(fresh.leaf), at_(at), mean_(at.size()),
        unexplained_(at.size()), r_(problem.data.m(), static_cast<int>(at.size())) {
    const BasisPtr basis = make_basis(data_, response, rows, params, ws);
    if (params.linear())
      solve_linear(response, rows, *basis, problem.spec.coefficients, hyper, ws);
    else
      solve_gp(response, rows, *basis, problem.spec.coefficients, hyper, ws);
  }

  double mean(int i) const { return mean_[i]; }
  double noise() const { return sigma2_ * (params_.linear() ? 1 + params_.g : params_.g); }
  double var_f(int i) const { return sigma2_ * std::max(0.0, unexplained_[i] + coefficient_covariance(i, i)); }

  // Covariance of f between all rows of this leaf: (nq, nq).
  Matrix covariance() const {
    const int nq = static_cast<int>(at_.size());
    Matrix cov(nq, nq);
    kernel::Buffer kstar, products;
    const int nqp = kernel::panel_rows(nq, width_);
    if (!params_.linear()) {
      const auto& ops = kernel::ops(n_);
      kernel::Buffer xnew;
      const int dims = scale_inputs(fresh_, at_, params_, nqp, xnew);
      kstar.reserve(kernel::triangle_size(nqp, width_));
      ops.correlate(data_.family, xnew.data(), dims, nq, nqp, kstar.data());
      products.reserve(static_cast<std::size_t>(nqp) * nqp);
      const double* v = extra_.data() + static_cast<std::size_t>(design_panels_) * width_ * np_;
      ops.products(v, nqp / width_, v, nqp / width_, np_, products.data());
    }
    for (int i = 0; i < nq; ++i) {
      for (int j = 0; j < i; ++j) {
        double unit = coefficient_covariance(i, j);
        if (!params_.linear())
          unit += kernel::triangle_at(kstar.data(), width_, i, j) - products.data()[static_cast<std::size_t>(j) * nqp + i];
        cov(i, j) = cov(j, i) = sigma2_ * unit;
      }
      cov(i, i) = var_f(i);
    }
    return cov;
  }

 private:
  void check(bool ok) const {
    if (!ok) throw std::runtime_error("a leaf's correlation matrix does not factorise at prediction");
  }

  void solve_linear(const Response& response, const std::vector<int>& rows, const Basis& basis, CoefficientKind kind,
                    const Hyper& hyper, Workspace& ws) {
    Whitened w;
    whiten(data_, response, rows, params_, basis, ws, w);
    const auto post = coefficient_posterior(w, params_.tau2, kind, hyper);
    check(post.ok);
    for (std::size_t i = 0; i < at_.size(); ++i) finish_row(post, static_cast<int>(i), nullptr);
  }

  void solve_gp(const Response& response, const std::vector<int>& rows, const Basis& basis, CoefficientKind kind,
                const Hyper& hyper, Workspace& ws) {
    const int n = static_cast<int>(rows.size()), m = data_.m(), nq = static_cast<int>(at_.size());
    const auto& ops = kernel::ops(n);
    n_ = n;
    width_ = ops.width;
    np_ = kernel::panel_rows(n, width_);
    const int nqp = kernel::panel_rows(nq, width_);
    design_panels_ = kernel::panel_rows(m + 1, width_) / width_;
    const int design_rows = design_panels_ * width_;

    kernel::Buffer xnew;
    const int dims = scale_inputs(data_, rows, params_, np_, ws.xs);
    scale_inputs(fresh_, at_, params_, nqp, xnew);
    fill_noise(response, rows, np_, params_, ws);
    ws.factor.reserve(kernel::triangle_size(np_, width_));
    extra_.reserve(kernel::extra_size(design_rows + nqp, np_, width_));
    double* v = extra_.data() + static_cast<std::size_t>(design_rows) * np_;
    write_design(data_, response.z, rows, np_, width_, extra_.data());
    ops.cross(data_.family, ws.xs.data(), n, np_, xnew.data(), nqp, dims, v);
    const double half_log_det = ops.factor(basis.kstar.data(), ws.noise.data(), np_, ws.factor.data(), extra_.data(),
                                           design_panels_ + nqp / width_);
    check(!std::isnan(half_log_det));

    // R from a copy: the whitened F itself is still needed.
    const std::size_t size = static_cast<std::size_t>(design_rows) * np_;
    ws.extra.reserve(size);
    std::copy_n(extra_.data(), size, ws.extra.data());
    Whitened w{Matrix(m + 1, m + 1), 2 * half_log_det, n};
    ops.orthogonalise(ws.extra.data(), np_, m + 1, w.r.values.data());
    const auto post = coefficient_posterior(w, params_.tau2, kind, hyper);
    check(post.ok);

    for (int i = 0; i < n; ++i) {  // row m: e_z becomes e_z - E_F bt
      double& e = kernel::extra_at(extra_.data(), np_, width_, m, i);
      for (int j = 0; j < m; ++j) e -= kernel::extra_at(extra_.data(), np_, width_, j, i) * post.mean[j];
    }
    kernel::Buffer norms(nqp), products(static_cast<std::size_t>(design_rows) * nqp);
    ops.squared_norms(v, nqp / width_, np_, norms.data());
    ops.products(extra_.data(), design_panels_, v, nqp / width_, np_, products.data());
    for (int i = 0; i < nq; ++i) {
      const double* product = products.data() + static_cast<std::size_t>(i) * design_rows;
      unexplained_[i] = 1 - norms.data()[i];
      finish_row(post, i, product);
      mean_[i] += product[m];
    }
  }

  // Mean f'bt and T^-T r, r = f - explained, where r'V r = |T^-T r|^2 and V^-1 = T'T.
  void finish_row(const CoefficientPosterior& post, int i, const double* explained) {
    Vector r(data_.m());
    for (int j = 0; j < data_.m(); ++j) {
      const double f = fresh_.design(at_[i], j);
      mean_[i] += f * post.mean[j];
      r[j] = f - (explained ? explained[j] : 0);
    }
    solve_upper_transposed(post.root, r);
    std::copy(r.begin(), r.end(), &r_(0, i));
  }

  double coefficient_covariance(int i, int j) const {
    double sum = 0;
    for (int t = 0; t < r_.rows; ++t) sum += r_(t, i) * r_(t, j);
    return sum;
  }

  const LeafData& data_;
  const LeafParams& params_;
  double sigma2_;
  const LeafData& fresh_;
  const std::vector<int>& at_;
  int n_ = 0, np_ = 0, width_ = 1, design_panels_ = 0;
  kernel::Buffer extra_;  // L^-1 [F, z - F bt, k(x)]' as rows
  Vector mean_;           // (nq)
  Vector unexplained_;    // (nq) 1 - v'v; 0 in a linear leaf
  Matrix r_;              // (m, nq) T^-T r
};

}  // namespace treedgp
