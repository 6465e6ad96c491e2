/// \file
/// Operators of vector types: HIP's float4 and its like have them, CUDA's have not.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "names.h"

namespace kgen_hip {

/// The type of an element and the number of them, for vectors only.
template <class V>
struct VectorFacts {
  static constexpr int k_size = 0;
};
#define KGEN_HIP_VECTOR(name, type, size) \
  template <>                             \
  struct VectorFacts<name##size> {        \
    using Element = type;                 \
    static constexpr int k_size = size;   \
  };
#define KGEN_HIP_VECTORS(name, type) \
  KGEN_HIP_VECTOR(name, type, 1)     \
  KGEN_HIP_VECTOR(name, type, 2)     \
  KGEN_HIP_VECTOR(name, type, 3)     \
  KGEN_HIP_VECTOR(name, type, 4)
// CUDA 13 would rather have the alignment in the names of the vectors of four 64-bit numbers.
#pragma nv_diagnostic push
#pragma nv_diag_suppress 1444
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
KGEN_HIP_VECTOR_KINDS(KGEN_HIP_VECTORS)
#pragma GCC diagnostic pop
#pragma nv_diagnostic pop
#undef KGEN_HIP_VECTORS
#undef KGEN_HIP_VECTOR

template <class V>
using IfVector = std::enable_if_t<(VectorFacts<V>::k_size > 0), int>;
template <class V, class S>
using IfVectorAndScalar = std::enable_if_t<(VectorFacts<V>::k_size > 0) && std::is_arithmetic_v<S>, int>;
template <class V>
using ElementOf = typename VectorFacts<V>::Element;

template <class V>
__host__ __device__ __forceinline__ V all_elements(ElementOf<V> value) {
  V result;
  result.x = value;
  if constexpr (VectorFacts<V>::k_size > 1) result.y = value;
  if constexpr (VectorFacts<V>::k_size > 2) result.z = value;
  if constexpr (VectorFacts<V>::k_size > 3) result.w = value;
  return result;
}

}  // namespace kgen_hip

// In the global namespace, where a call finds them through the types. They are templates, so that an operator of the
// source for the same types is the better match.
#define KGEN_HIP_OPERATOR(op)                                                                        \
  template <class V, kgen_hip::IfVector<V> = 0>                                                      \
  __host__ __device__ __forceinline__ V operator op(const V& a, const V& b) {                        \
    using Element = kgen_hip::ElementOf<V>;                                                          \
    V result;                                                                                        \
    result.x = static_cast<Element>(a.x op b.x);                                                     \
    if constexpr (kgen_hip::VectorFacts<V>::k_size > 1) result.y = static_cast<Element>(a.y op b.y); \
    if constexpr (kgen_hip::VectorFacts<V>::k_size > 2) result.z = static_cast<Element>(a.z op b.z); \
    if constexpr (kgen_hip::VectorFacts<V>::k_size > 3) result.w = static_cast<Element>(a.w op b.w); \
    return result;                                                                                   \
  }                                                                                                  \
  template <class V, class S, kgen_hip::IfVectorAndScalar<V, S> = 0>                                 \
  __host__ __device__ __forceinline__ V operator op(const V& a, S b) {                               \
    return a op kgen_hip::all_elements<V>(static_cast<kgen_hip::ElementOf<V>>(b));                   \
  }                                                                                                  \
  template <class V, class S, kgen_hip::IfVectorAndScalar<V, S> = 0>                                 \
  __host__ __device__ __forceinline__ V operator op(S a, const V& b) {                               \
    return kgen_hip::all_elements<V>(static_cast<kgen_hip::ElementOf<V>>(a)) op b;                   \
  }                                                                                                  \
  template <class V, class S, kgen_hip::IfVector<V> = 0>                                             \
  __host__ __device__ __forceinline__ V& operator op##=(V& a, const S& b) {                          \
    return a = a op b;                                                                               \
  }
KGEN_HIP_OPERATOR(+)
KGEN_HIP_OPERATOR(-)
KGEN_HIP_OPERATOR(*)
KGEN_HIP_OPERATOR(/)
KGEN_HIP_OPERATOR(%)
KGEN_HIP_OPERATOR(&)
KGEN_HIP_OPERATOR(|)
KGEN_HIP_OPERATOR(^)
#undef KGEN_HIP_OPERATOR

template <class V, kgen_hip::IfVector<V> = 0>
__host__ __device__ __forceinline__ V operator-(const V& a) {
  return kgen_hip::all_elements<V>(0) - a;
}
template <class V, kgen_hip::IfVector<V> = 0>
__host__ __device__ __forceinline__ bool operator==(const V& a, const V& b) {
  bool same = a.x == b.x;
  if constexpr (kgen_hip::VectorFacts<V>::k_size > 1) same = same && a.y == b.y;
  if constexpr (kgen_hip::VectorFacts<V>::k_size > 2) same = same && a.z == b.z;
  if constexpr (kgen_hip::VectorFacts<V>::k_size > 3) same = same && a.w == b.w;
  return same;
}
template <class V, kgen_hip::IfVector<V> = 0>
__host__ __device__ __forceinline__ bool operator!=(const V& a, const V& b) {
  return !(a == b);
}
