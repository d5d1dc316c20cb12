// Blocked Cholesky factorisation that takes extra rows along: factoring [K; A] leaves [L; A L^-T].
#pragma once
#include "simd.hpp"

namespace treedgp::kernel {
namespace {

// One panel of W rows on its way through the factorisation: read from `in` (K* or an extra panel), written to `out`.
struct Panel {
  const double* in;
  double* out;  // columns before k already hold L
};

// acc[m][c] -= sum_{from<=t<k} out_m[t] * pivot[t, c]: an (M*W, W) outer-product tile held in registers.
template <int M>
TREEDGP_INLINE void subtract_product(const Panel* a, const double* pivot, int from, int k, V (*acc)[W]) {
  for (int t = from; t < k; ++t) {
    V x[M];
    for (int m = 0; m < M; ++m) x[m] = load(a[m].out + t * W);
    TREEDGP_UNROLL
    for (int c = 0; c < W; ++c) {
      TREEDGP_UNROLL
      for (int m = 0; m < M; ++m) acc[m][c] -= x[m] * pivot[t * W + c];
    }
  }
}

template <int M>
TREEDGP_INLINE void load_columns(const Panel* a, int k, V (*acc)[W]) {
  TREEDGP_UNROLL
  for (int m = 0; m < M; ++m) {
    TREEDGP_UNROLL
    for (int c = 0; c < W; ++c) acc[m][c] = load(a[m].in + (k + c) * W);
  }
}

// Columns k .. k+W-1 of M panels: subtract what earlier columns explain, then solve against the diagonal block. Columns
// before `from` are 0.
template <int M>
void solve_panels(const Panel* a, const double* pivot, int from, int k, const double* diagonal) {
  V acc[M][W];
  load_columns<M>(a, k, acc);
  subtract_product<M>(a, pivot, from, k, acc);
  TREEDGP_UNROLL
  for (int c = 0; c < W; ++c) {
    TREEDGP_UNROLL
    for (int m = 0; m < M; ++m) {
      TREEDGP_UNROLL
      for (int t = 0; t < c; ++t) acc[m][c] -= acc[m][t] * diagonal[t * W + c];
      acc[m][c] *= diagonal[c * W + c];
      store(a[m].out + (k + c) * W, acc[m][c]);
    }
  }
}

// sum of log x over many x with few logarithms.
struct LogProduct {
  double sum = 0, product = 1;

  void times(double x) {  // 0 < x < 1.4e154, a square root: no overflow from within these bounds
    product *= x;
    if (product > 1e-100 && product < 1e100) return;
    sum += log(product);
    product = 1;
  }
  double log_total() const { return sum + log(product); }
};

// Factors a diagonal block d (W, W), column-major; false when not positive definite. Writes L to `out` and leaves it
// in d with reciprocals on the diagonal, as solve_panels wants it.
TREEDGP_INLINE bool factor_block(double* d, const double* noise, double* out, LogProduct& determinant) {
  double next = d[0] + noise[0];
  TREEDGP_UNROLL
  for (int c = 0; c < W; ++c) {
    const double p = next;
    if (!(p >= 2.2250738585072014e-308)) return false;  // smallest normal: its reciprocal is finite
    const double inverse = 1 / p, l = sqrt(p), reciprocal = 1 / l;
    if (c + 1 < W) {  // the next pivot ahead of the rest of its column: all later ones wait for it
      const double below = d[c * W + c + 1];
      next = d[(c + 1) * W + c + 1] + noise[c + 1] - below * below * inverse;
    }
    const V column = load(d + c * W);
    TREEDGP_UNROLL
    for (int t = c + 1; t < W; ++t) store(d + t * W, load(d + t * W) - column * (d[c * W + t] * inverse));
    store(d + c * W, column * reciprocal);
    store(out + c * W, column * reciprocal);
    d[c * W + c] = reciprocal;
    out[c * W + c] = l;
    determinant.times(l);
  }
  return true;
}

double factor(const double* kstar, const double* noise, int np, double* L, double* extra, int ne) {
  const int blocks = np / W;
  LogProduct determinant;
  for (int b = 0; b < blocks; ++b) {
    const int k = b * W;
    double* pivot = L + panel_start(b);
    const Panel own = {kstar + panel_start(b), pivot};
    V acc[1][W];
    load_columns<1>(&own, k, acc);
    subtract_product<1>(&own, pivot, 0, k, acc);
    alignas(64) double d[W * W];
    for (int c = 0; c < W; ++c) store(d + c * W, acc[0][c]);
    if (!factor_block(d, noise + k, pivot + k * W, determinant)) return NAN;

    Panel a[MR];
    int r = b + 1;  // the next panel below; from `blocks` on, extra panels
    const auto take = [&](int count) {
      for (int m = 0; m < count; ++m, ++r) {
        if (r < blocks) {
          a[m] = {kstar + panel_start(r), L + panel_start(r)};
        } else {
          double* e = extra + static_cast<Index>(r - blocks) * np * W;
          a[m] = {e, e};
        }
      }
      return a;
    };
    int left = blocks + ne - r;
    for (; left >= MR; left -= MR) solve_panels<MR>(take(MR), pivot, 0, k, d);
    for (; left >= 2; left -= 2) solve_panels<2>(take(2), pivot, 0, k, d);
    if (left == 1) solve_panels<1>(take(1), pivot, 0, k, d);
  }
  return determinant.log_total();
}

// The diagonal block of pivot row b as solve_panels wants it.
TREEDGP_INLINE void load_block(const double* L, int b, double* d) {
  const double* block = L + panel_start(b) + static_cast<Index>(b) * W * W;
  for (int i = 0; i < W * W; ++i) d[i] = block[i];
  for (int c = 0; c < W; ++c) d[c * W + c] = 1 / d[c * W + c];
}

void solve(const double* L, int np, double* extra, int ne) {
  alignas(64) double d[W * W];
  for (int b = 0; b < np / W; ++b) {
    load_block(L, b, d);
    for (int r = 0; r < ne; ++r) {
      double* e = extra + static_cast<Index>(r) * np * W;
      const Panel panel = {e, e};
      solve_panels<1>(&panel, L + panel_start(b), 0, b * W, d);
    }
  }
}

void solve_transposed(const double* L, int np, double* extra, int ne) {
  alignas(64) double d[W * W];
  for (int b = np / W - 1; b >= 0; --b) {
    load_block(L, b, d);
    const double* pivot = L + panel_start(b);
    for (int r = 0; r < ne; ++r) {
      double* e = extra + static_cast<Index>(r) * np * W;
      V x[W];
      TREEDGP_UNROLL
      for (int c = W - 1; c >= 0; --c) {
        x[c] = load(e + (b * W + c) * W);
        TREEDGP_UNROLL
        for (int t = c + 1; t < W; ++t) x[c] -= x[t] * d[c * W + t];
        x[c] *= d[c * W + c];
        store(e + (b * W + c) * W, x[c]);
      }
      for (int t = 0; t < b * W; ++t) {  // what these columns explain of earlier ones
        V left = load(e + t * W);
        TREEDGP_UNROLL
        for (int c = 0; c < W; ++c) left -= x[c] * pivot[t * W + c];
        store(e + t * W, left);
      }
    }
  }
}

void multiply(const double* L, int np, double* extra, int ne) {
  for (int b = np / W - 1; b >= 0; --b) {  // from the end: a column needs those before it as they were
    const double* pivot = L + panel_start(b);
    for (int r = 0; r < ne; ++r) {
      double* e = extra + static_cast<Index>(r) * np * W;
      const Panel panel = {e, e};
      V less[1][W] = {};
      subtract_product<1>(&panel, pivot, 0, b * W, less);
      TREEDGP_UNROLL
      for (int c = W - 1; c >= 0; --c) {
        TREEDGP_UNROLL
        for (int t = 0; t <= c; ++t) less[0][c] -= load(e + (b * W + t) * W) * pivot[(b * W + t) * W + c];
        store(e + (b * W + c) * W, -less[0][c]);
      }
    }
  }
}

void invert(const double* L, int np, double* extra) {
  const int blocks = np / W;
  for (Index i = 0; i < static_cast<Index>(np) * np; ++i) extra[i] = 0;
  for (int i = 0; i < np; ++i) extra[static_cast<Index>(i / W) * np * W + static_cast<Index>(i) * W + i % W] = 1;
  alignas(64) double d[W * W];
  for (int b = 0; b < blocks; ++b) {
    const int k = b * W;
    const double* pivot = L + panel_start(b);
    load_block(L, b, d);

    Panel a[MR];
    int r = 0;  // the next panel; those after b have nothing in these columns
    const auto take = [&](int count) {
      for (int m = 0; m < count; ++m, ++r) {
        double* e = extra + static_cast<Index>(r) * np * W;
        a[m] = {e, e};
      }
      return a;
    };
    while (b + 1 - r >= MR) {
      const int from = r * W;
      solve_panels<MR>(take(MR), pivot, from, k, d);
    }
    while (r <= b) {
      const int from = r * W;
      solve_panels<1>(take(1), pivot, from, k, d);
    }
  }
}

}  // namespace
}  // namespace treedgp::kernel
