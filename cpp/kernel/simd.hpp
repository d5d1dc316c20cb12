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
#if defined(TREEDGP_AVX512VL)
constexpr int W = 4, MR = 4;
#elif defined(__AVX512F__)
constexpr int W = 8, MR = 3;
#elif defined(__AVX2__)
constexpr int W = 4, MR = 3;
#else
constexpr int W = 2, MR = 4;  // SSE2 or NEON: GCC lowers vectors wider than a register badly
#endif
typedef double V __attribute__((vector_size(W * 8), may_alias));
typedef unsigned long long U __attribute__((vector_size(W * 8)));
#endif
#if defined(TREEDGP_AVX512VL)  // two V fit in a register
typedef double V2 __attribute__((vector_size(W * 16), may_alias));
typedef unsigned long long U2 __attribute__((vector_size(W * 16)));
#endif

typedef long long Index;  // long has 32 bits on Windows

inline Index panel_start(int r) { return static_cast<Index>(W) * W * r * (r + 1) / 2; }  // of a triangle, see ops.hpp

TREEDGP_INLINE V load(const double* p) { return *reinterpret_cast<const V*>(p); }
TREEDGP_INLINE void store(double* p, V v) { *reinterpret_cast<V*>(p) = v; }

// T is V or V2.
template <class T = V>
TREEDGP_INLINE T splat(double a) {
  return a - T{};  // a - 0 folds to a broadcast, 0 + a does not (a = -0)
}

template <class To, class From>
TREEDGP_INLINE To same_bits(From from) {
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
TREEDGP_INLINE U bits(V v) { return same_bits<U>(v); }
TREEDGP_INLINE V from_bits(U u) { return same_bits<V>(u); }
#if defined(TREEDGP_AVX512VL)
TREEDGP_INLINE U2 bits(V2 v) { return same_bits<U2>(v); }
TREEDGP_INLINE V2 from_bits(U2 u) { return same_bits<V2>(u); }
#endif

template <class T>
TREEDGP_INLINE T root(T v) {
#if defined(TREEDGP_SCALAR)
  return sqrt(v);
#else
  for (unsigned l = 0; l < sizeof v / 8; ++l) v[l] = __builtin_sqrt(v[l]);  // one instruction, given -fno-math-errno
  return v;
#endif
}

// 0 up to lane l, v after it.
TREEDGP_INLINE V after_lane(int l, V v) {
#if defined(TREEDGP_SCALAR)
  return l < 0 ? v : 0;
#else
  V lane;
  for (int i = 0; i < W; ++i) lane[i] = i;
  return lane > splat(l) ? v : V{};
#endif
}

}  // namespace
}  // namespace treedgp::kernel
