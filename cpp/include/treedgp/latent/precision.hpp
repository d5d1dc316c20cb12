// Q = (K + tau2 F W F')^-1 of a leaf: Q / sigma2 is the precision of its latent.
#pragma once
#include <stdexcept>

#include "treedgp/latent/gaussian.hpp"

namespace treedgp {

// Dense for a GP; D^-1 - D^-1 F A^-1 F' D^-1, D = (1 + g) I, for a linear leaf, which is never formed.
class LeafPrecision {
 public:
  LeafPrecision(const Problem& problem, const Leaf& leaf, const Hyper& h, Workspace& ws)
      : n_(static_cast<int>(leaf.region->rows.size())), m_(problem.data.m()), linear_(leaf.params.linear()),
        d_(1 + leaf.params.g), f_(n_, m_), h_(n_, m_) {
    for (int j = 0; j < m_; ++j)
      for (int i = 0; i < n_; ++i) f_(i, j) = problem.data.design(leaf.region->rows[i], j);
    if (!linear_) invert(leaf, ws);
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
    double q = linear_ ? (i == k ? 1 / d_ : 0) : inverse_(i, k);
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
    double value = linear_ ? v_[i] / d_ : solved_[i];
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
    for (double& v : a.values) v /= d_;
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

  // K^-1 = L^-T L^-1.
  void invert(const Leaf& leaf, Workspace& ws) {
    const auto& ops = kernel::ops(n_);
    const int np = kernel::panel_rows(n_, ops.width), panels = np / ops.width;
    factor_leaf(leaf, {}, ws, ws.factor);
    kernel::Buffer rows(kernel::extra_size(np, np, ops.width)), products(static_cast<std::size_t>(np) * np);
    ops.invert(ws.factor.data(), np, rows.data());
    ops.products(rows.data(), panels, rows.data(), panels, np, products.data());
    inverse_ = Matrix(n_, n_);
    for (int k = 0; k < n_; ++k) std::copy_n(products.data() + static_cast<std::size_t>(k) * np, n_, &inverse_(0, k));
  }

  int n_, m_;
  bool linear_;
  double d_;
  Matrix f_, h_, a_, inverse_;
  Vector v_, projected_, solved_;
};

}  // namespace treedgp
