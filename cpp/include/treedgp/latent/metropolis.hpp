// The paper's update of a class's latents, its ratio corrected: in each leaf, blocks of a random partition are proposed
// from their law given the leaf's other latents (beta integrated out) and accepted by the labels of the block.
// With Q = (K + tau2 F W F')^-1 and r = Q (f - F beta0),
//   f_I | rest ~ N(f_I - Q_II^-1 r_I, sigma2 Q_II^-1).
#pragma once
#include <numeric>
#include <stdexcept>

#include "treedgp/moves/ratio.hpp"
#include "treedgp/state/softmax.hpp"

namespace treedgp {

// Q of a leaf: dense for a GP; D^-1 - D^-1 F A^-1 F' D^-1, D = (1 + g) I, for a linear leaf, which is never formed.
class LeafPrecision {
 public:
  LeafPrecision(const Problem& problem, const Leaf& leaf, const Hyper& h, Workspace& ws)
      : n_(static_cast<int>(leaf.region->rows.size())), m_(problem.data.m()), linear_(leaf.params.linear()),
        d_(1 + leaf.params.g), f_(n_, m_), h_(n_, m_) {
    for (int j = 0; j < m_; ++j)
      for (int i = 0; i < n_; ++i) f_(i, j) = problem.data.design(leaf.region->rows[i], j);
    if (!linear_) invert(leaf, ws);
    h_ = linear_ ? scaled(f_, 1 / d_) : times_inverse(f_);
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
  static Matrix scaled(Matrix a, double by) {
    for (double& v : a.values) v *= by;
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
  void invert(const Leaf& leaf, Workspace& ws) {
    const auto& ops = kernel::ops(n_);
    const int np = kernel::panel_rows(n_, ops.width), panels = np / ops.width;
    fill_noise({}, leaf.region->rows, np, leaf.params, ws);
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
  double d_;
  Matrix f_, h_, a_, inverse_;
  Vector v_, projected_, solved_;
};

// log p(label_i | latents) with `f` for the latent of class m at point i.
inline double log_label(const Problem& problem, const std::vector<const Layer*>& layers, int m, int i, double f) {
  const int c = problem.classes.label[i];
  const double others = log_sum_others(layers, i, m);
  const double of_label = c == m ? f : c < problem.classes.n_latents() ? layers[c]->response.z[i] : 0;
  return of_label - log_add(others, f);
}

// One pass over the blocks of every leaf of class m. Returns by the counts how often blocks were accepted.
template <class Rng, class Count>
void move_latents(Layer& layer, int m, const std::vector<const Layer*>& layers, const Problem& problem, Workspace& ws,
                  Count&& count, Rng& rng) {
  for (const Leaf& leaf : layer.leaves) {
    const auto& rows = leaf.region->rows;
    const int n = static_cast<int>(rows.size());
    LeafPrecision precision(problem, leaf, layer.hyper, ws);
    Vector v(n);
    for (int i = 0; i < n; ++i) {
      v[i] = layer.response.z[rows[i]];
      for (int j = 0; j < problem.data.m(); ++j) v[i] -= problem.data.design(rows[i], j) * layer.hyper.beta0[j];
    }
    precision.start(std::move(v));

    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    for (int i = n - 1; i > 0; --i) std::swap(order[i], order[rng.pick(i + 1)]);
    for (int first = 0; first < n; first += problem.classes.block_size) {
      const int size = std::min(problem.classes.block_size, n - first);
      const int* block = order.data() + first;
      Matrix q(size, size);
      Vector r(size), step(size);
      for (int a = 0; a < size; ++a) {
        r[a] = precision.r(block[a]);
        for (int b = 0; b < size; ++b) q(a, b) = precision.at(block[a], block[b]);
      }
      if (!cholesky(q)) throw std::runtime_error("a block of latents has no law given the others");
      solve_lower(q, r);
      for (int a = 0; a < size; ++a) step[a] = std::sqrt(leaf.params.sigma2) * rng.normal() - r[a];
      solve_lower_transposed(q, step);  // f' - f

      double log_ratio = 0;
      for (int a = 0; a < size; ++a) {
        const int i = rows[block[a]];
        const double f = layer.response.z[i];
        log_ratio += log_label(problem, layers, m, i, f + step[a]) - log_label(problem, layers, m, i, f);
      }
      const bool accepted = accept({.likelihood = log_ratio}, 1, rng);
      count(accepted);
      if (!accepted) continue;
      for (int a = 0; a < size; ++a) {
        layer.response.z[rows[block[a]]] += step[a];
        precision.add(block[a], step[a]);
      }
    }
  }
}

}  // namespace treedgp
