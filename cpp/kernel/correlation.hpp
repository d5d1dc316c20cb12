// Correlations of points, a panel of W rows at a time.
#pragma once
#include "simd.hpp"
#include "treedgp/kernel/ops.hpp"
#include "vexp.hpp"

namespace treedgp::kernel {
namespace {

template <Family family, class T>
TREEDGP_INLINE T correlation(T r2) {
  if constexpr (family == Family::gaussian) return vexp(-r2);
  r2 = r2 > splat<T>(1e6) ? splat<T>(1e6) : r2;  // exp(-1000) is 0 already, and 0 times infinity would be NaN
  const T r = root(r2);
  const T e = vexp(-r);
  if constexpr (family == Family::matern32) return e * (r + 1.0);
  if constexpr (family == Family::matern52) return e * (r2 * (1.0 / 3.0) + r + 1.0);
  return e;
}

template <Family family>
TREEDGP_INLINE void correlate_two(V r2_0, V r2_1, double* out0, double* out1) {
#if defined(TREEDGP_AVX512VL)
  const V2 both = correlation<family>(V2(__builtin_shufflevector(r2_0, r2_1, 0, 1, 2, 3, 4, 5, 6, 7)));
  store(out0, __builtin_shufflevector(both, both, 0, 1, 2, 3));
  store(out1, __builtin_shufflevector(both, both, 4, 5, 6, 7));
#else
  store(out0, correlation<family>(r2_0));
  store(out1, correlation<family>(r2_1));
#endif
}

// Correlations of W points with the first `columns` of others.
template <Family family>
TREEDGP_INLINE void correlate_panel(const double* rows, int row_stride,  // (dims, row_stride), from the first row on
                                    const double* cols, int col_stride,  // (dims, col_stride)
                                    int dims, int columns,
                                    double* out) {  // (columns, W)
  for (int j = 0; j < columns; j += 2) {  // two columns at once: two independent chains of arithmetic
    const int j1 = j + 1 < columns ? j + 1 : j;
    V s0 = {}, s1 = {};
    for (int p = 0; p < dims; ++p) {
      const V x = load(rows + static_cast<Index>(p) * row_stride);
      const double* y = cols + static_cast<Index>(p) * col_stride;
      const V d0 = x - y[j], d1 = x - y[j1];
      s0 += d0 * d0;
      s1 += d1 * d1;
    }
    correlate_two<family>(s0, s1, out + j * W, out + j1 * W);
  }
}

template <Family family>
void correlate_as(const double* xs, int dims, int n, int np, double* kstar) {
  for (int r = 0; r * W < np; ++r) {
    double* panel = kstar + panel_start(r);
    const int end = r * W + W;
    correlate_panel<family>(xs + r * W, np, xs, np, dims, end < n ? end : n, panel);
    for (int j = n; j < end; ++j) store(panel + j * W, V{});
    for (int i = r * W; i < end; ++i) {
      for (int j = 0; i >= n && j < n; ++j) panel[j * W + i % W] = 0;
      panel[i * W + i % W] = 1;
    }
  }
}

template <Family family>
void cross_as(const double* xs, int n, int np, const double* xnew, int nqp, int dims, double* extra) {
  for (int q = 0; q < nqp; q += W) {
    double* panel = extra + static_cast<Index>(q) * np;
    correlate_panel<family>(xnew + q, nqp, xs, np, dims, n, panel);
    for (int j = n; j < np; ++j) store(panel + j * W, V{});
  }
}

void correlate(Family family, const double* xs, int dims, int n, int np, double* kstar) {
  switch (family) {
    case Family::gaussian: return correlate_as<Family::gaussian>(xs, dims, n, np, kstar);
    case Family::matern12: return correlate_as<Family::matern12>(xs, dims, n, np, kstar);
    case Family::matern32: return correlate_as<Family::matern32>(xs, dims, n, np, kstar);
    case Family::matern52: return correlate_as<Family::matern52>(xs, dims, n, np, kstar);
  }
}

void cross(Family family, const double* xs, int n, int np, const double* xnew, int nqp, int dims, double* extra) {
  switch (family) {
    case Family::gaussian: return cross_as<Family::gaussian>(xs, n, np, xnew, nqp, dims, extra);
    case Family::matern12: return cross_as<Family::matern12>(xs, n, np, xnew, nqp, dims, extra);
    case Family::matern32: return cross_as<Family::matern32>(xs, n, np, xnew, nqp, dims, extra);
    case Family::matern52: return cross_as<Family::matern52>(xs, n, np, xnew, nqp, dims, extra);
  }
}

}  // namespace
}  // namespace treedgp::kernel
