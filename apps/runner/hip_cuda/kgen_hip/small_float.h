/// \file
/// Numbers of 16 bits beside numbers of other types: clang converts the former, where CUDA's operators are ambiguous.
#pragma once

#include <cuda_fp16.h>

#include <type_traits>

/// With a number beside it: in float32, as clang's conversion to float makes it, or in float64.
#define KGEN_HIP_MIXED_OPERATOR(type, widen, op)                                   \
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0> \
  __host__ __device__ __forceinline__ auto operator op(const type& a, Number b) {  \
    return widen(a) op b;                                                          \
  }                                                                                \
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0> \
  __host__ __device__ __forceinline__ auto operator op(Number a, const type& b) {  \
    return a op widen(b);                                                          \
  }
#define KGEN_HIP_MIXED_OPERATORS(type, widen) \
  KGEN_HIP_MIXED_OPERATOR(type, widen, +)     \
  KGEN_HIP_MIXED_OPERATOR(type, widen, -)     \
  KGEN_HIP_MIXED_OPERATOR(type, widen, *)     \
  KGEN_HIP_MIXED_OPERATOR(type, widen, /)     \
  KGEN_HIP_MIXED_OPERATOR(type, widen, ==)    \
  KGEN_HIP_MIXED_OPERATOR(type, widen, !=)    \
  KGEN_HIP_MIXED_OPERATOR(type, widen, <)     \
  KGEN_HIP_MIXED_OPERATOR(type, widen, >)     \
  KGEN_HIP_MIXED_OPERATOR(type, widen, <=)    \
  KGEN_HIP_MIXED_OPERATOR(type, widen, >=)

KGEN_HIP_MIXED_OPERATORS(__half, __half2float)

// nvcc ends with an internal error where a kernel has clang's type.
#define _Float16 __half
