// Modified Gram-Schmidt on extra rows. Rows sit in the lanes of a panel, so one pass serves W of them.
#pragma once
#include "simd.hpp"

namespace treedgp::kernel {
namespace {

// Adds up what `term(i)` gives for i < n, in four independent chains.
template <class Term>
TREEDGP_INLINE V sum_over(int n, Term&& term) {
  V s[4] = {};
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    TREEDGP_UNROLL
    for (int u = 0; u < 4; ++u) s[u] += term(i + u);
  }
  for (; i < n; ++i) s[0] += term(i);
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// The inner products of all W rows of panel e with row y. Rows are strided by W.
TREEDGP_INLINE V inner_products(const double* e, const double* y, int np) {
  return sum_over(np, [=](int i) { return load(e + i * W) * y[i * W]; });
}

// e[i, :] -= share y[i], then the inner products of its rows with `next`. Both may be rows of the panel itself.
TREEDGP_INLINE V remove_row(double* e, V share, const double* y, const double* next, int np) {
  return sum_over(np, [=](int i) {
    const V left = load(e + i * W) - share * y[i * W];
    store(e + i * W, left);
    return left * next[i * W];
  });
}

void orthogonalise(double* extra, int np, int rows, double* r) {
  const auto R = [=](int j, int k) -> double& { return r[j + static_cast<Index>(k) * rows]; };
  alignas(64) double lanes[W];
  for (Index i = 0; i < static_cast<Index>(rows) * rows; ++i) r[i] = 0;
  V products = {};  // of row j with the rows of its panel
  for (int j = 0; j < rows; ++j) {
    const int own = j / W * W;  // the first row of its panel
    double* e = extra + static_cast<Index>(own) * np;
    const double* y = e + j - own;
    if (j == own) products = inner_products(e, y, np);
    store(lanes, products);
    const double left = lanes[j - own];
    double before = 0;
    for (int i = 0; i < j; ++i) before += R(i, j) * R(i, j);
    const bool dependent = !(left > 1e-28 * (before + left));
    const double inverse = dependent ? 0 : 1 / left, norm = dependent ? 0 : sqrt(left);
    R(j, j) = norm;
    const auto keep = [&](int first) {  // the products with the rows after j of the panel that begins there
      for (int k = first > j ? first : j + 1; k < rows && k < first + W; ++k) R(j, k) = lanes[k - first] * (norm * inverse);
    };
    keep(own);
    const bool same_panel = j + 1 < own + W;
    products = remove_row(e, after_lane(j - own, products * inverse), y, same_panel ? y + 1 : y, np);
    for (int first = own + W; first < rows; first += W) {
      double* other = extra + static_cast<Index>(first) * np;
      const V with = inner_products(other, y, np);
      store(lanes, with);
      keep(first);
      remove_row(other, with * inverse, y, y, np);
    }
  }
}

}  // namespace
}  // namespace treedgp::kernel
