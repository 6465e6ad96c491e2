/// \file
/// float16: __half, __half2, and their functions.
#pragma once

#include "hip_runtime.h"

#include "../kgen_hip/small_float.h"

using __half = kgen_hip::Float<kgen_hip::Float16Format>;
using __half2 = kgen_hip::FloatPair<kgen_hip::Float16Format>;
using half = __half;
using half2 = __half2;
struct __half_raw {
  unsigned short x;
};

KGEN_HIP_FLOAT_FUNCTIONS(kgen_hip::Float16Format)

inline __half __float2half(float x) { return __half(x); }
inline __half __float2half_rn(float x) { return __half(x); }
inline __half __float2half_rz(float x) {
  __half nearest(x);
  if (fabsf(nearest.wide()) > fabsf(x)) --nearest.bits;
  return nearest;
}
inline __half __double2half(double x) { return __half(x); }
inline float __half2float(__half x) { return x.wide(); }
inline unsigned short __half_as_ushort(__half x) { return x.bits; }
inline short __half_as_short(__half x) { return static_cast<short>(x.bits); }
inline __half __ushort_as_half(unsigned short bits) { return __half::of_bits(bits); }
inline __half __short_as_half(short bits) { return __half::of_bits(static_cast<unsigned short>(bits)); }
inline int __half2int_rn(__half x) { return static_cast<int>(rintf(x.wide())); }
inline int __half2int_rz(__half x) { return static_cast<int>(x.wide()); }
inline __half __int2half_rn(int x) { return __half(x); }
inline __half __uint2half_rn(unsigned x) { return __half(x); }

inline __half2 make_half2(__half x, __half y) { return {x, y}; }
inline __half2 __halves2half2(__half x, __half y) { return {x, y}; }
inline __half2 __half2half2(__half x) { return {x, x}; }
inline __half2 __float2half2_rn(float x) { return {__half(x), __half(x)}; }
inline __half2 __floats2half2_rn(float x, float y) { return {__half(x), __half(y)}; }
inline __half2 __float22half2_rn(float2 x) { return {__half(x.x), __half(x.y)}; }
inline float2 __half22float2(__half2 x) { return {x.x.wide(), x.y.wide()}; }
inline __half __low2half(__half2 x) { return x.x; }
inline __half __high2half(__half2 x) { return x.y; }
inline float __low2float(__half2 x) { return x.x.wide(); }
inline float __high2float(__half2 x) { return x.y.wide(); }
inline __half2 __low2half2(__half2 x) { return {x.x, x.x}; }
inline __half2 __high2half2(__half2 x) { return {x.y, x.y}; }
inline __half2 __lows2half2(__half2 x, __half2 y) { return {x.x, y.x}; }
inline __half2 __highs2half2(__half2 x, __half2 y) { return {x.y, y.y}; }
inline __half2 __lowhigh2highlow(__half2 x) { return {x.y, x.x}; }
