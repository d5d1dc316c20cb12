// The vector type of one instruction set: V (W doubles) and U (their bits). With TREEDGP_SCALAR, a plain double.
// Internal linkage throughout: each translation unit compiles these for another instruction set.
#pragma once
#include <math.h>
#include <string.h>

#if defined(__GNUC__)
#define TREEDGP_INLINE static inline __attribute__((always_inline))
#define TREEDGP_UNROLL _Pragma("GCC unroll 8")
#else
#define TREEDGP_INLINE static inline
#define TREEDGP_UNROLL
#endif

namespace treedgp::kernel {
namespace {

#if defined(TREEDGP_SCALAR)
constexpr int W = 1, MR = 4;
typedef double V;
typedef unsigned long long U;
#else
#if defined(__AVX512F__)
constexpr int W = 8, MR = 3;
#elif defined(__AVX2__)
constexpr int W = 4, MR = 3;
#else
constexpr int W = 2, MR = 4;  // SSE2 or NEON: GCC lowers vectors wider than a register badly
#endif
typedef double V __attribute__((vector_size(W * 8), may_alias));
typedef unsigned long long U __attribute__((vector_size(W * 8)));
#endif

typedef long long Index;  // long has 32 bits on Windows

inline Index panel_start(int r) { return static_cast<Index>(W) * W * r * (r + 1) / 2; }  // of a triangle, see ops.hpp

TREEDGP_INLINE V load(const double* p) { return *reinterpret_cast<const V*>(p); }
TREEDGP_INLINE void store(double* p, V v) { *reinterpret_cast<V*>(p) = v; }
TREEDGP_INLINE V splat(double a) { return a - V{}; }  // a - 0 folds to a broadcast, 0 + a does not (a = -0)

TREEDGP_INLINE U bits(V v) {
  U u;
  memcpy(&u, &v, sizeof u);
  return u;
}
TREEDGP_INLINE V from_bits(U u) {
  V v;
  memcpy(&v, &u, sizeof v);
  return v;
}

TREEDGP_INLINE V root(V v) {
#if defined(TREEDGP_SCALAR)
  return sqrt(v);
#else
  for (int l = 0; l < W; ++l) v[l] = __builtin_sqrt(v[l]);  // one vector instruction, given -fno-math-errno
  return v;
#endif
}

}  // namespace
}  // namespace treedgp::kernel
