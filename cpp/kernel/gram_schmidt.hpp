// Modified Gram-Schmidt on extra rows. Rows sit in the lanes of a panel, so one pass serves W of them.
#pragma once
#include "simd.hpp"

namespace treedgp::kernel {
namespace {

// sum_i e[i, :] * y[i], y strided by W: the inner products of one row with all W rows of a panel.
TREEDGP_INLINE V inner_products(const double* e, const double* y, int np) {
  V s[4] = {};  // four independent chains of additions
  int i = 0;
  for (; i + 4 <= np; i += 4)
    for (int u = 0; u < 4; ++u) s[u] += load(e + (i + u) * W) * y[(i + u) * W];
  for (; i < np; ++i) s[0] += load(e + i * W) * y[i * W];
  return (s[0] + s[1]) + (s[2] + s[3]);
}

void orthogonalise(double* extra, int np, int rows, double* r) {
  const int panels = (rows + W - 1) / W;
  const auto R = [=](int j, int k) -> double& { return r[j + static_cast<Index>(k) * rows]; };
  alignas(64) double lanes[W], scale[W];
  for (Index i = 0; i < static_cast<Index>(rows) * rows; ++i) r[i] = 0;
  for (int b = 0; b < panels; ++b) {
    const double* e = extra + static_cast<Index>(b) * np * W;
    V s = {};
    for (int i = 0; i < np; ++i) s += load(e + i * W) * load(e + i * W);
    store(lanes, s);
    for (int k = b * W; k < rows && k < b * W + W; ++k) R(k, k) = lanes[k % W];  // kept here until row k's turn
  }
  for (int j = 0; j < rows; ++j) {
    const int own = j / W;
    const double* y = extra + static_cast<Index>(own) * np * W + j % W;
    const double original = R(j, j);
    for (int b = own; b < panels; ++b) {
      store(lanes, inner_products(extra + static_cast<Index>(b) * np * W, y, np));
      for (int k = b * W > j ? b * W : j; k < rows && k < b * W + W; ++k) R(j, k) = lanes[k % W];
    }
    const double remaining = R(j, j);
    const bool dependent = remaining <= 1e-28 * original;
    const double inverse = dependent ? 0 : 1 / remaining, norm = dependent ? 0 : sqrt(remaining);
    const double reciprocal = norm * inverse;
    R(j, j) = norm;
    for (int b = panels - 1; b >= own; --b) {  // the panel holding y last: the others still need y as it is
      for (int l = 0; l < W; ++l) {
        const int k = b * W + l;
        const bool later = k > j && k < rows;
        scale[l] = k == j ? reciprocal : 1;
        lanes[l] = later ? R(j, k) * inverse : 0;
        if (later) R(j, k) *= reciprocal;
      }
      double* e = extra + static_cast<Index>(b) * np * W;
      const V keep = load(scale), remove = load(lanes);
      for (int i = 0; i < np; ++i) store(e + i * W, load(e + i * W) * keep - remove * y[i * W]);
    }
  }
}

}  // namespace
}  // namespace treedgp::kernel
