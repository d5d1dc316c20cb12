// The predictive law of one leaf at new points, given its parameters: beta integrated out, sigma2 as drawn.
//   GP:      mean f'bt + v'(e_z - E_F bt),  var f / sigma2 = 1 - v'v + r'V r,  v = L^-1 k(x), r = f - E_F'v
//   linear:  mean f'bt,                     var f / sigma2 = f'V f
// where E = L^-1 [F z]. A new observation adds sigma2 g (GP) or sigma2 (1 + g) (linear).
#pragma once
#include "treedgp/state/state.hpp"

namespace treedgp {

struct NewRows {
  int n = 0;
  std::vector<std::int32_t> code;  // (n_columns, n)
  Vector x;                        // (q, n)
};

class LeafPredictor {
 public:
  // Rows `at` of `fresh` fall in this leaf, whose training rows are `rows`.
  LeafPredictor(const Problem& problem, const std::vector<int>& rows, const LeafParams& params, double sigma2,
                const Hyper& hyper, const NewRows& fresh, const std::vector<int>& at, Workspace& ws)
      : data_(problem.data), params_(params), sigma2_(sigma2), fresh_(fresh), at_(at) {
    const BasisPtr basis = make_basis(data_, rows, params, ws);
    if (params.linear())
      solve_linear(whiten(data_, rows, params, *basis, ws), problem.spec.coefficients, hyper);
    else
      solve_gp(rows, *basis, problem.spec.coefficients, hyper, ws);
  }

  double mean(int i) const { return mean_[i]; }
  double var_f(int i) const { return sigma2_ * std::max(0.0, cov_unit(i, i)); }
  double noise() const { return sigma2_ * (params_.linear() ? 1 + params_.g : params_.g); }
  double cov_f(int i, int j) const { return i == j ? var_f(i) : sigma2_ * cov_unit(i, j); }

 private:
  double design(int i, int j) const {
    return j == 0 ? 1.0 : fresh_.x[static_cast<std::size_t>(j - 1) * fresh_.n + at_[i]];
  }

  void check(const CoefficientPosterior& post) const {
    if (!post.ok) throw std::runtime_error("a leaf's correlation matrix does not factorise at prediction");
  }

  void solve_linear(const Whitened& w, CoefficientKind kind, const Hyper& hyper) {
    const auto post = coefficient_posterior(w, params_.tau2, kind, hyper);
    check(post);
    for (std::size_t i = 0; i < at_.size(); ++i) {
      Vector f(data_.m());
      double mean = 0;
      for (int j = 0; j < data_.m(); ++j) mean += (f[j] = design(i, j)) * post.mean[j];
      finish_row(post, mean, std::move(f));
    }
  }

  void solve_gp(const std::vector<int>& rows, const Basis& basis, CoefficientKind kind, const Hyper& hyper,
                Workspace& ws) {
    const auto& ops = kernel::ops();
    const int n = static_cast<int>(rows.size()), m = data_.m(), nq = static_cast<int>(at_.size());
    np_ = kernel::panel_rows(n, ops.width);
    width_ = ops.width;
    const int nqp = kernel::panel_rows(nq, width_), design_panels = kernel::panel_rows(m + 1, width_) / width_;
    design_rows_ = design_panels * width_;

    const int dims = scale_inputs(data_, rows, params_, np_, ws.xs);
    LeafData fresh = {fresh_.n, data_.q, data_.linear_mean, data_.family, fresh_.x, {}, false};
    kernel::Buffer xnew;
    scale_inputs(fresh, at_, params_, nqp, xnew);
    ws.noise.reserve(np_);
    for (int i = 0; i < np_; ++i) ws.noise.data()[i] = i < n ? params_.g : 0;
    ws.factor.reserve(kernel::triangle_size(np_, width_));
    extra_.reserve(kernel::extra_size(design_rows_ + nqp, np_, width_));
    write_design(data_, rows, np_, width_, extra_.data());
    ops.cross(data_.family, ws.xs.data(), n, np_, xnew.data(), nqp, dims,
              extra_.data() + static_cast<std::size_t>(design_rows_) * np_);
    const double half_log_det = ops.factor(basis.kstar.data(), ws.noise.data(), np_, ws.factor.data(), extra_.data(),
                                           design_panels + nqp / width_);
    if (std::isnan(half_log_det)) throw std::runtime_error("a leaf's correlation matrix does not factorise at prediction");

    // R from a copy: the whitened [F z] itself is still needed.
    const std::size_t size = static_cast<std::size_t>(design_rows_) * np_;
    ws.extra.reserve(size);
    std::copy_n(extra_.data(), size, ws.extra.data());
    Whitened w{Matrix(m + 1, m + 1), 2 * half_log_det, n};
    ops.orthogonalise(ws.extra.data(), np_, m + 1, w.r.values.data());
    const auto post = coefficient_posterior(w, params_.tau2, kind, hyper);
    check(post);

    Vector residual(np_);  // e_z - E_F bt
    for (int i = 0; i < np_; ++i) {
      residual[i] = at(m, i);
      for (int j = 0; j < m; ++j) residual[i] -= at(j, i) * post.mean[j];
    }
    kstar_.reserve(kernel::triangle_size(nqp, width_));
    ops.correlate(data_.family, xnew.data(), dims, nq, nqp, kstar_.data());
    for (int i = 0; i < nq; ++i) {
      Vector r(m);
      double mean = 0;
      for (int j = 0; j < m; ++j) mean += (r[j] = design(i, j)) * post.mean[j];
      for (int t = 0; t < np_; ++t) {
        const double v = at(design_rows_ + i, t);
        mean += v * residual[t];
        for (int j = 0; j < m; ++j) r[j] -= v * at(j, t);
      }
      finish_row(post, mean, std::move(r));
    }
  }

  void finish_row(const CoefficientPosterior& post, double mean, Vector r) {
    mean_.push_back(mean);
    solve_lower(post.v_inv_factor, r);  // r'V r = |L^-1 r|^2, V^-1 = L L'
    coefficient_.push_back(std::move(r));
  }

  double at(int row, int i) const { return kernel::extra_at(extra_.data(), np_, width_, row, i); }

  double cov_unit(int i, int j) const {
    double sum = 0;
    for (std::size_t t = 0; t < coefficient_[i].size(); ++t) sum += coefficient_[i][t] * coefficient_[j][t];
    if (params_.linear()) return sum;
    sum += kernel::triangle_at(kstar_.data(), width_, std::max(i, j), std::min(i, j));
    for (int t = 0; t < np_; ++t) sum -= at(design_rows_ + i, t) * at(design_rows_ + j, t);
    return sum;
  }

  const LeafData& data_;
  const LeafParams& params_;
  double sigma2_;
  const NewRows& fresh_;
  const std::vector<int>& at_;
  int np_ = 0, width_ = 1, design_rows_ = 0;
  kernel::Buffer extra_, kstar_;     // L^-1 [F z k(x)]' as rows; K* of the new points
  Vector mean_;                      // (nq)
  std::vector<Vector> coefficient_;  // (nq) L^-1 r
};

}  // namespace treedgp
