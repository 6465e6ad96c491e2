/// \file
/// bfloat16: __hip_bfloat16, __hip_bfloat162, and their functions.
#pragma once

#include "hip_runtime.h"

#include "../kgen_hip/small_float.h"

using __hip_bfloat16 = kgen_hip::Float<kgen_hip::Bfloat16Format>;
using __hip_bfloat162 = kgen_hip::FloatPair<kgen_hip::Bfloat16Format>;
using __nv_bfloat16 = __hip_bfloat16;
using __nv_bfloat162 = __hip_bfloat162;

KGEN_HIP_FLOAT_FUNCTIONS(kgen_hip::Bfloat16Format)

inline __hip_bfloat16 __float2bfloat16(float x) { return __hip_bfloat16(x); }
inline __hip_bfloat16 __float2bfloat16_rn(float x) { return __hip_bfloat16(x); }
inline __hip_bfloat16 __double2bfloat16(double x) { return __hip_bfloat16(x); }
inline float __bfloat162float(__hip_bfloat16 x) { return x.wide(); }
inline unsigned short __bfloat16_as_ushort(__hip_bfloat16 x) { return x.bits; }
inline __hip_bfloat16 __ushort_as_bfloat16(unsigned short bits) { return __hip_bfloat16::of_bits(bits); }
inline __hip_bfloat162 __float2bfloat162_rn(float x) { return {__hip_bfloat16(x), __hip_bfloat16(x)}; }
inline __hip_bfloat162 __floats2bfloat162_rn(float x, float y) { return {__hip_bfloat16(x), __hip_bfloat16(y)}; }
inline __hip_bfloat162 __float22bfloat162_rn(float2 x) { return {__hip_bfloat16(x.x), __hip_bfloat16(x.y)}; }
inline float2 __bfloat1622float2(__hip_bfloat162 x) { return {x.x.wide(), x.y.wide()}; }
inline __hip_bfloat162 __bfloat162bfloat162(__hip_bfloat16 x) { return {x, x}; }
inline __hip_bfloat162 __halves2bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
inline __hip_bfloat162 make_bfloat162(__hip_bfloat16 x, __hip_bfloat16 y) { return {x, y}; }
inline __hip_bfloat16 __low2bfloat16(__hip_bfloat162 x) { return x.x; }
inline __hip_bfloat16 __high2bfloat16(__hip_bfloat162 x) { return x.y; }
inline float __low2float(__hip_bfloat162 x) { return x.x.wide(); }
inline float __high2float(__hip_bfloat162 x) { return x.y.wide(); }
