// Dense algebra for the m x m problems of a leaf's coefficients (m is 1 to a few dozen).
#pragma once
#include <cmath>
#include <vector>

namespace treedgp {

using Vector = std::vector<double>;

// Column-major dense matrix.
struct Matrix {
  int rows = 0, cols = 0;
  Vector values;

  Matrix() = default;
  Matrix(int rows, int cols) : rows(rows), cols(cols), values(static_cast<std::size_t>(rows) * cols) {}

  // All zeros.
  void resize(int new_rows, int new_cols) {
    rows = new_rows, cols = new_cols;
    values.assign(static_cast<std::size_t>(rows) * cols, 0.0);
  }

  double& operator()(int i, int j) { return values[static_cast<std::size_t>(j) * rows + i]; }
  double operator()(int i, int j) const { return values[static_cast<std::size_t>(j) * rows + i]; }

  static Matrix identity(int n, double scale = 1) {
    Matrix a(n, n);
    for (int i = 0; i < n; ++i) a(i, i) = scale;
    return a;
  }
};

// Lower Cholesky factor of a symmetric matrix (its lower triangle is read), in place; the strict upper
// triangle becomes 0. False if the matrix is not numerically positive definite.
inline bool cholesky(Matrix& a) {
  for (int j = 0; j < a.cols; ++j) {
    for (int t = 0; t < j; ++t)
      for (int i = j; i < a.rows; ++i) a(i, j) -= a(i, t) * a(j, t);
    if (!(a(j, j) > 0) || !std::isfinite(a(j, j))) return false;
    const double pivot = std::sqrt(a(j, j));
    for (int i = j; i < a.rows; ++i) a(i, j) /= pivot;
    for (int i = 0; i < j; ++i) a(i, j) = 0;
  }
  return true;
}

// x <- L^-1 x
inline void solve_lower(const Matrix& l, Vector& x) {
  for (int j = 0; j < l.cols; ++j) {
    x[j] /= l(j, j);
    for (int i = j + 1; i < l.rows; ++i) x[i] -= l(i, j) * x[j];
  }
}

// x <- L^-T x
inline void solve_lower_transposed(const Matrix& l, Vector& x) {
  for (int j = l.cols - 1; j >= 0; --j) {
    for (int i = j + 1; i < l.rows; ++i) x[j] -= l(i, j) * x[i];
    x[j] /= l(j, j);
  }
}

// x <- T^-1 x, for the leading x.size() rows and columns of an upper triangular T
inline void solve_upper(const Matrix& t, Vector& x) {
  for (int j = static_cast<int>(x.size()) - 1; j >= 0; --j) {
    x[j] /= t(j, j);
    for (int i = 0; i < j; ++i) x[i] -= t(i, j) * x[j];
  }
}

// x <- T^-T x, for the leading x.size() rows and columns of an upper triangular T
inline void solve_upper_transposed(const Matrix& t, Vector& x) {
  for (int j = 0; j < static_cast<int>(x.size()); ++j) {
    for (int i = 0; i < j; ++i) x[j] -= t(i, j) * x[i];
    x[j] /= t(j, j);
  }
}

// sum_i log |T_ii| over the leading m entries of a triangular matrix
inline double half_log_det(const Matrix& t, int m) {
  double sum = 0, product = 1;  // one logarithm for many factors
  for (int i = 0; i < m; ++i) {
    product *= std::abs(t(i, i));
    if (product > 1e-100 && product < 1e100) continue;
    sum += std::log(product);
    product = 1;
  }
  return sum + std::log(product);
}

inline double squared_norm(const Vector& x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  return sum;
}

// Triangular factor R of A = Q R by modified Gram-Schmidt, which is backward stable for least squares
// (Bjorck 1967). A column that depends on those before it, to a relative 1e-14, gets a zero row.
inline Matrix triangularise(Matrix a) {
  Matrix r(a.cols, a.cols);
  for (int j = 0; j < a.cols; ++j) {
    double* q = a.values.data() + static_cast<std::size_t>(j) * a.rows;
    double original = 0, left = 0;
    for (int i = 0; i < j; ++i) original += r(i, j) * r(i, j);
    for (int i = 0; i < a.rows; ++i) left += q[i] * q[i];
    if (!(left > 1e-28 * (original + left))) continue;
    r(j, j) = std::sqrt(left);
    for (int i = 0; i < a.rows; ++i) q[i] /= r(j, j);
    for (int k = j + 1; k < a.cols; ++k) {
      double* v = a.values.data() + static_cast<std::size_t>(k) * a.rows;
      double dot = 0;
      for (int i = 0; i < a.rows; ++i) dot += q[i] * v[i];
      r(j, k) = dot;
      for (int i = 0; i < a.rows; ++i) v[i] -= dot * q[i];
    }
  }
  return r;
}

// T with T'T = R'R + U'U, for (m + 1, m + 1) upper triangular R and (m, m + 1) U whose first m columns are upper
// triangular and whose last is full: least squares with more rows, by Householder reflections that keep the zeros.
// T(m, m)^2 is the residual sum of squares.
inline Matrix fold_rows(Matrix r, Matrix u) {
  const int m = u.rows;
  for (int j = 0; j < m; ++j) {
    double below = 0;
    for (int i = 0; i <= j; ++i) below += u(i, j) * u(i, j);
    const double norm = std::sqrt(r(j, j) * r(j, j) + below);
    if (!(norm > 0)) continue;
    const double pivot = r(j, j) > 0 ? -norm : norm, head = r(j, j) - pivot, scale = 2 / (head * head + below);
    r(j, j) = pivot;
    for (int k = j + 1; k <= m; ++k) {
      double dot = head * r(j, k);
      for (int i = 0; i <= j; ++i) dot += u(i, j) * u(i, k);
      dot *= scale;
      r(j, k) -= dot * head;
      for (int i = 0; i <= j; ++i) u(i, k) -= dot * u(i, j);
    }
  }
  double residual = r(m, m) * r(m, m);
  for (int i = 0; i < m; ++i) residual += u(i, m) * u(i, m);
  r(m, m) = std::sqrt(residual);
  return r;
}

// Are the columns of A independent, to the tolerance below relative to each column's norm?
inline bool full_column_rank(Matrix a) {
  constexpr double tolerance = 1e-10;
  if (a.rows < a.cols) return false;
  const Matrix r = triangularise(std::move(a));
  for (int j = 0; j < r.cols; ++j) {
    double norm = 0;
    for (int i = 0; i <= j; ++i) norm += r(i, j) * r(i, j);
    if (!(r(j, j) > tolerance * std::sqrt(norm))) return false;
  }
  return true;
}

}  // namespace treedgp
