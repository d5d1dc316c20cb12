// exp(x) for x <= 0, within 2 ulp on [-708, 0]; exactly 1 at 0; exactly 0 below -708, so no subnormals; NaN stays NaN.
#pragma once
#include "simd.hpp"

namespace treedgp::kernel {
namespace {

// exp(x) = 2^k exp(r), |r| <= log(2)/2. -ffast-math would cancel the additions of `magic` that round x/log(2) to k.
template <class T>
TREEDGP_INLINE T vexp(T x) {
  const double magic = 6755399441055744.0;  // 1.5 * 2^52: the low bits of magic + k are the integer k
  const T t = x * 1.4426950408889634074 + magic;
  const T k = t - magic;
  T r = x - k * 6.93147180369123816490e-01;  // log(2) in two parts; k times the first is exact
  r = r - k * 1.90821492927058770002e-10;
  // 1 + r q(r), q interpolating (exp(r) - 1)/r at the 11 Chebyshev points: relative error 1e-17, Taylor's is 2e-16.
  T p = r * 2.5105206373957107e-08 + 2.762635724144735e-07;
  p = p * r + 2.7557255425746435e-06;
  p = p * r + 2.4801504346997686e-05;
  p = p * r + 1.9841269874800493e-04;
  p = p * r + 1.3888888932488599e-03;
  p = p * r + 8.333333333326141e-03;
  p = p * r + 4.166666666657314e-02;
  p = p * r + 1.666666666666667e-01;
  p = p * r + 5.000000000000006e-01;
  p = p * r + 1.0;
  p = p * r + 1.0;
  const T power = from_bits((bits(t) + 1023) << 52);
  return x < splat<T>(-708.0) ? T{} : p * power;
}

}  // namespace
}  // namespace treedgp::kernel
