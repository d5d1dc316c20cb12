// Inner products between extra rows: what prediction needs after the triangular solve.
#pragma once
#include "simd.hpp"

namespace treedgp::kernel {
namespace {

// Inner products of M panels of rows a with one panel of rows b: an (M*W, W) tile held in registers.
template <int M>
void multiply_panels(const double* a, const double* b, int np, int rows_a, double* out) {
  V acc[M][W] = {};
  for (int t = 0; t < np; ++t) {
    V x[M];
    TREEDGP_UNROLL
    for (int m = 0; m < M; ++m) x[m] = load(a + (static_cast<Index>(m) * np + t) * W);
    TREEDGP_UNROLL
    for (int c = 0; c < W; ++c) {
      TREEDGP_UNROLL
      for (int m = 0; m < M; ++m) acc[m][c] += x[m] * b[t * W + c];
    }
  }
  for (int c = 0; c < W; ++c)
    for (int m = 0; m < M; ++m) store(out + static_cast<Index>(c) * rows_a + m * W, acc[m][c]);
}

void products(const double* a, int panels_a, const double* b, int panels_b, int np, double* out) {
  const int rows_a = panels_a * W;
  for (int j = 0; j < panels_b; ++j) {
    const double* rows_b = b + static_cast<Index>(j) * np * W;
    double* column = out + static_cast<Index>(j) * W * rows_a;
    int i = 0;
    const auto at = [&](int panel) { return a + static_cast<Index>(panel) * np * W; };
    for (; i + MR <= panels_a; i += MR) multiply_panels<MR>(at(i), rows_b, np, rows_a, column + i * W);
    for (; i + 2 <= panels_a; i += 2) multiply_panels<2>(at(i), rows_b, np, rows_a, column + i * W);
    if (i < panels_a) multiply_panels<1>(at(i), rows_b, np, rows_a, column + i * W);
  }
}

void squared_norms(const double* b, int panels_b, int np, double* out) {
  for (int j = 0; j < panels_b; ++j) {
    V sum = {};
    for (int t = 0; t < np; ++t) {
      const V x = load(b + (static_cast<Index>(j) * np + t) * W);
      sum += x * x;
    }
    store(out + static_cast<Index>(j) * W, sum);
  }
}

}  // namespace
}  // namespace treedgp::kernel
