/// \file
/// Mathematics of kernels that HIP has and CUDA lacks.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

namespace kgen_hip {

/// Two numbers of different types, for which CUDA's min() and max() may be ambiguous.
template <class A, class B>
using IfDifferentNumbers = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !std::is_same_v<A, B>,
                                            std::common_type_t<A, B>>;

}  // namespace kgen_hip

template <class A, class B>
__host__ __device__ __forceinline__ kgen_hip::IfDifferentNumbers<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class B>
__host__ __device__ __forceinline__ kgen_hip::IfDifferentNumbers<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}

// A macro, because the C library declares a function of this name.
#define __exp2f exp2f

__device__ __forceinline__ float __builtin_amdgcn_rcpf(float x) { return 1.0f / x; }
__device__ __forceinline__ double __builtin_amdgcn_rcp(double x) { return 1.0 / x; }
__device__ __forceinline__ float __builtin_amdgcn_rsqf(float x) { return rsqrtf(x); }
__device__ __forceinline__ double __builtin_amdgcn_rsq(double x) { return rsqrt(x); }
__device__ __forceinline__ float __builtin_amdgcn_sqrtf(float x) { return sqrtf(x); }
__device__ __forceinline__ float __builtin_amdgcn_exp2f(float x) { return exp2f(x); }
__device__ __forceinline__ float __builtin_amdgcn_logf(float x) { return log2f(x); }
// AMD's unit of an angle is a whole turn.
__device__ __forceinline__ float __builtin_amdgcn_sinf(float turns) { return sinpif(2.0f * turns); }
__device__ __forceinline__ float __builtin_amdgcn_cosf(float turns) { return cospif(2.0f * turns); }
__device__ __forceinline__ float __builtin_amdgcn_fractf(float x) { return x - floorf(x); }
__device__ __forceinline__ float __builtin_amdgcn_ldexpf(float x, int power) { return ldexpf(x, power); }
__device__ __forceinline__ float __builtin_amdgcn_fmed3f(float a, float b, float c) {
  return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}
