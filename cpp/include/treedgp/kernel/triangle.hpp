// Vectors and the kernel's triangles: what is too small to need a kernel of its own.
#pragma once
#include <algorithm>

#include "treedgp/kernel/ops.hpp"

namespace treedgp::kernel {

inline const double* panel_of(const double* triangle, int W, int panel) {
  return triangle + static_cast<std::size_t>(W) * W * panel * (panel + 1) / 2;
}

// out = L x for a factor of np rows; x and out are (np, cols), each row contiguous.
inline void multiply_lower(const double* L, int W, int np, int cols, const double* x, double* out) {
  std::fill_n(out, static_cast<std::size_t>(np) * cols, 0.0);
  auto add = [&](double l, int from, int to) {
    for (int c = 0; c < cols; ++c) out[to * cols + c] += l * x[from * cols + c];
  };
  for (int panel = 0; panel * W < np; ++panel) {
    const int first = panel * W;
    const double* at = panel_of(L, W, panel);
    for (int j = 0; j < first; ++j, at += W)
      for (int w = 0; w < W; ++w) add(at[w], j, first + w);
    for (int j = 0; j < W; ++j, at += W)
      for (int w = j; w < W; ++w) add(at[w], first + j, first + w);
  }
}

// x <- L^-T x, (np, cols), each row contiguous.
inline void solve_lower_transposed(const double* L, int W, int np, int cols, double* x) {
  auto subtract = [&](double l, int from, int to) {
    for (int c = 0; c < cols; ++c) x[to * cols + c] -= l * x[from * cols + c];
  };
  for (int panel = np / W - 1; panel >= 0; --panel) {
    const int first = panel * W;
    const double* at = panel_of(L, W, panel);
    const double* diagonal = at + static_cast<std::size_t>(first) * W;
    for (int j = W - 1; j >= 0; --j) {
      for (int w = j + 1; w < W; ++w) subtract(diagonal[j * W + w], first + w, first + j);
      for (int c = 0; c < cols; ++c) x[(first + j) * cols + c] /= diagonal[j * W + j];
    }
    for (int j = 0; j < first; ++j, at += W)
      for (int w = 0; w < W; ++w) subtract(at[w], first + w, j);
  }
}

}  // namespace treedgp::kernel
