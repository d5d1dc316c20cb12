// Vectors and the kernel's triangles: what is too small to need a kernel of its own.
#pragma once
#include <algorithm>

#include "treedgp/kernel/ops.hpp"

namespace treedgp::kernel {

inline const double* panel_of(const double* triangle, int W, int panel) {
  return triangle + static_cast<std::size_t>(W) * W * panel * (panel + 1) / 2;
}

// out = L x, both (np), for a factor of np rows.
inline void multiply_lower(const double* L, int W, int np, const double* x, double* out) {
  std::fill_n(out, np, 0.0);
  for (int panel = 0; panel * W < np; ++panel) {
    const int first = panel * W;
    const double* at = panel_of(L, W, panel);
    for (int j = 0; j < first; ++j, at += W)
      for (int w = 0; w < W; ++w) out[first + w] += at[w] * x[j];
    for (int j = 0; j < W; ++j, at += W)
      for (int w = j; w < W; ++w) out[first + w] += at[w] * x[first + j];
  }
}

// x <- L^-T x, (np).
inline void solve_lower_transposed(const double* L, int W, int np, double* x) {
  for (int panel = np / W - 1; panel >= 0; --panel) {
    const int first = panel * W;
    const double* at = panel_of(L, W, panel);
    const double* diagonal = at + static_cast<std::size_t>(first) * W;
    for (int j = W - 1; j >= 0; --j) {
      for (int w = j + 1; w < W; ++w) x[first + j] -= diagonal[j * W + w] * x[first + w];
      x[first + j] /= diagonal[j * W + j];
    }
    for (int j = 0; j < first; ++j, at += W) {
      double sum = 0;
      for (int w = 0; w < W; ++w) sum += at[w] * x[first + w];
      x[j] -= sum;
    }
  }
}

}  // namespace treedgp::kernel
