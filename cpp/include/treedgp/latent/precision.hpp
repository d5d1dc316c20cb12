// The law of a leaf's latent: its mean F beta0, and Q = (K + nu / sigma2 + tau2 F W F')^-1: Q / sigma2 is the precision of its latent, or, with the noise nu of a
// response, of the data.
#pragma once
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

// Q: dense for a GP; D^-1 - D^-1 F A^-1 F' D^-1, D = (1 + g) I + nu / sigma2, for a linear leaf, which is never formed.
class LeafPrecision {
 public:
  LeafPrecision(const Problem& problem, const Leaf& leaf, const Response& response, const Hyper& h, Workspace& ws)
      : n_(static_cast<int>(leaf.region->rows.size())), m_(problem.data.m()), linear_(leaf.params.linear()),
        d_(n_, 1 + leaf.params.g), f_(n_, m_), h_(n_, m_) {
    if (!response.noise.empty())
      for (int i = 0; i < n_; ++i) d_[i] += response.noise[leaf.region->rows[i]] / leaf.params.sigma2;
    for (int j = 0; j < m_; ++j)
      for (int i = 0; i < n_; ++i) f_(i, j) = problem.data.design(leaf.region->rows[i], j);
    if (!linear_) invert(leaf, response, ws);
    h_ = linear_ ? over_diagonal(f_) : times_inverse(f_);
    a_ = Matrix(m_, m_);  // A = W^-1 / tau2 + F' K^-1 F, then its factor
    for (int j = 0; j < m_; ++j)
      for (int k = 0; k < m_; ++k) {
        a_(j, k) = h.w_inv(j, k) / leaf.params.tau2;
        for (int i = 0; i < n_; ++i) a_(j, k) += f_(i, j) * h_(i, k);
      }
    if (!cholesky(a_)) throw std::runtime_error("the coefficients of a leaf have no posterior");
    for (int i = 0; i < n_; ++i) {  // A^-1/2 F' K^-1: then Q = K^-1 - h h'
      Vector row(m_);
      for (int j = 0; j < m_; ++j) row[j] = h_(i, j);
      solve_lower(a_, row);
      for (int j = 0; j < m_; ++j) h_(i, j) = row[j];
    }
  }

  double at(int i, int k) const {
    double q = linear_ ? (i == k ? 1 / d_[i] : 0) : inverse_(i, k);
    for (int j = 0; j < m_; ++j) q -= h_(i, j) * h_(k, j);
    return q;
  }

  // v, of which r = Q v is asked.
  void start(Vector v) {
    v_ = std::move(v);
    projected_.assign(m_, 0);
    for (int i = 0; i < n_; ++i)
      for (int j = 0; j < m_; ++j) projected_[j] += h_(i, j) * v_[i];
    if (!linear_) solved_ = times_inverse(v_);
  }

  double r(int i) const {
    double value = linear_ ? v_[i] / d_[i] : solved_[i];
    for (int j = 0; j < m_; ++j) value -= h_(i, j) * projected_[j];
    return value;
  }

  void add(int i, double change) {
    v_[i] += change;
    for (int j = 0; j < m_; ++j) projected_[j] += h_(i, j) * change;
    if (!linear_)
      for (int k = 0; k < n_; ++k) solved_[k] += inverse_(k, i) * change;
  }

 private:
  Matrix over_diagonal(Matrix a) const {
    for (int j = 0; j < a.cols; ++j)
      for (int i = 0; i < n_; ++i) a(i, j) /= d_[i];
    return a;
  }

  Vector times_inverse(const Vector& v) const {
    Vector out(n_);
    for (int k = 0; k < n_; ++k)
      for (int i = 0; i < n_; ++i) out[i] += inverse_(i, k) * v[k];
    return out;
  }

  Matrix times_inverse(const Matrix& a) const {
    Matrix out(n_, a.cols);
    for (int j = 0; j < a.cols; ++j) {
      const Vector column = times_inverse(Vector(&a.values[static_cast<std::size_t>(j) * n_], &a.values[static_cast<std::size_t>(j) * n_] + n_));
      std::copy(column.begin(), column.end(), &out(0, j));
    }
    return out;
  }

  // K^-1 = L^-T L^-1, from the identity as extra rows of the factorisation.
  void invert(const Leaf& leaf, const Response& response, Workspace& ws) {
    const auto& ops = kernel::ops(n_);
    const int np = kernel::panel_rows(n_, ops.width), panels = np / ops.width;
    fill_noise(response, leaf.region->rows, np, leaf.params, ws);
    ws.factor.reserve(kernel::triangle_size(np, ops.width));
    kernel::Buffer rows(kernel::extra_size(np, np, ops.width)), products(static_cast<std::size_t>(np) * np);
    std::fill_n(rows.data(), kernel::extra_size(np, np, ops.width), 0.0);
    for (int i = 0; i < np; ++i) kernel::extra_at(rows.data(), np, ops.width, i, i) = 1;
    if (std::isnan(ops.factor(leaf.basis->kstar.data(), ws.noise.data(), np, ws.factor.data(), rows.data(), panels)))
      throw std::runtime_error("the correlation matrix of a leaf does not factorise");
    ops.products(rows.data(), panels, rows.data(), panels, np, products.data());
    inverse_ = Matrix(n_, n_);
    for (int k = 0; k < n_; ++k) std::copy_n(products.data() + static_cast<std::size_t>(k) * np, n_, &inverse_(0, k));
  }

  int n_, m_;
  bool linear_;
  Vector d_;
  Matrix f_, h_, a_, inverse_;
  Vector v_, projected_, solved_;
};

}  // namespace treedgp
