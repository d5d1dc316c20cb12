// The leaf kernel as a table of functions, one table per instruction set.
//
// Storage. Symmetric (np, np) matrices keep their lower triangle in row panels of W rows: panel r holds columns
// 0 .. W(r+1)-1 contiguously, so element (i, j), j <= i, is triangle[W*W*r*(r+1)/2 + j*W + i%W] with r = i/W.
// Entries above the diagonal inside a diagonal block are unspecified.
// Extra rows (right-hand sides stored as rows) come in panels of W rows and np columns; see extra_at.
// Rows are padded from n to np, a multiple of W. Every pointer is aligned to 64 bytes (buffer.hpp).
#pragma once
#include <cstddef>

namespace treedgp::kernel {

// Correlation as a function of r^2 = sum_p (xs_ip - xs_jp)^2 on pre-scaled inputs; exactly 1 at r = 0.
enum class Family : int {
  gaussian,  // exp(-r^2)
  matern12,  // exp(-r)
  matern32,  // (1 + r) exp(-r)
  matern52,  // (1 + r + r^2/3) exp(-r)
};

struct Ops {
  const char* name;  // "scalar" | "baseline" | "avx2" | "avx512vl" | "avx512"
  int width;         // W, rows a panel

  // K* of n points: diagonal exactly 1, padded rows and columns those of the identity.
  void (*correlate)(Family,
                    const double* xs,  // (dims, np), each dimension contiguous; padding may hold anything
                    int dims, int n, int np,
                    double* kstar);  // triangle_size(np, W), written

  // Correlations of new points (rows) with the n points (columns); 0 in columns i >= n.
  void (*cross)(Family,
                const double* xs,  // (dims, np)
                int n, int np,
                const double* xnew,  // (dims, nqp), nqp a multiple of W; a padded row only affects itself
                int nqp, int dims,
                double* extra);  // extra_size(nqp, np, W), written

  // L L' = K* + diag(noise) and extra <- extra L^-T.
  // Returns sum_i log L_ii over the real rows, or NaN when K* + diag(noise) is not positive definite
  // (a pivot below the smallest normal double, or NaN); L and extra are then unspecified.
  double (*factor)(const double* kstar,  // triangle_size(np, W), not modified
                   const double* noise,  // (np): finite, 0 on padding
                   int np,
                   double* L,      // triangle_size(np, W), written; must not overlap kstar
                   double* extra,  // ne panels of W rows, in place; may be null when ne = 0
                   int ne);

  // extra <- extra L^-T by a factor: to the bit what factor() made of them.
  void (*solve)(const double* L,  // triangle_size(np, W)
                int np,
                double* extra,  // ne panels of W rows, in place
                int ne);

  // extra <- extra L^-1: each row x becomes L^-T x.
  void (*solve_transposed)(const double* L,  // triangle_size(np, W)
                           int np,
                           double* extra,  // ne panels of W rows, in place
                           int ne);

  // extra <- extra L': each row x becomes L x.
  void (*multiply)(const double* L,  // triangle_size(np, W)
                   int np,
                   double* extra,  // ne panels of W rows, in place
                   int ne);

  // L^-T of a factor as extra rows: row i is L^-1 times the i-th unit vector. A third of what factor() would take for it.
  void (*invert)(const double* L,  // triangle_size(np, W)
                 int np,
                 double* extra);  // extra_size(np, np, W), written

  // Modified Gram-Schmidt of the first `rows` extra rows: A = Q R, the columns of A being those rows. Row j becomes
  // R_jj times that of Q; the other rows of its panel are lost. A row with remaining norm <= 1e-14 of its original norm
  // gets R_jj = 0 and a zero row of R.
  // Squared norms are formed, so norms must lie within 1e-150 .. 1e150 (or be zero).
  void (*orthogonalise)(double* extra,  // at least `rows` extra rows, in place
                        int np, int rows,
                        double* r);  // (rows, rows) column-major, upper triangular, zeros below; written

  // Inner products of extra rows a with extra rows b, both of np columns.
  void (*products)(const double* a, int panels_a, const double* b, int panels_b, int np,
                   double* out);  // (panels_a W, panels_b W) column-major, written

  // Squared norms of extra rows.
  void (*squared_norms)(const double* b, int panels_b, int np,
                        double* out);  // (panels_b W), written
};

// The table for matrices of n rows on this CPU: the fastest supported, or the one named by the environment variable
// TREEDGP_ISA. Read once. Throws std::runtime_error when TREEDGP_ISA names none that runs here.
const Ops& ops(int n);

// Name of the widest table in use.
const char* isa();

// The table of that name, or null when it was not compiled or this CPU cannot run it.
const Ops* find(const char* isa);

// Not called by the kernel's own translation units: an inline function compiled for AVX-512 could be the one linked.
inline int panel_rows(int n, int W) { return (n + W - 1) / W * W; }

inline std::size_t triangle_size(int np, int W) {
  const std::size_t panels = static_cast<std::size_t>(np / W);
  return panels * (panels + 1) / 2 * static_cast<std::size_t>(W) * static_cast<std::size_t>(W);
}

// Element (i, j), j <= i.
inline double triangle_at(const double* triangle, int W, int i, int j) {
  const std::size_t panel = static_cast<std::size_t>(i / W), w = static_cast<std::size_t>(W);
  return triangle[w * w * panel * (panel + 1) / 2 + static_cast<std::size_t>(j) * w + static_cast<std::size_t>(i % W)];
}

inline std::size_t extra_size(int rows, int np, int W) {
  return static_cast<std::size_t>(panel_rows(rows, W)) * static_cast<std::size_t>(np);
}

inline double& extra_at(double* extra, int np, int W, int row, int i) {
  return extra[static_cast<std::ptrdiff_t>(row / W) * np * W + static_cast<std::ptrdiff_t>(i) * W + row % W];
}

inline const double& extra_at(const double* extra, int np, int W, int row, int i) {
  return extra_at(const_cast<double*>(extra), np, W, row, i);
}

}  // namespace treedgp::kernel
