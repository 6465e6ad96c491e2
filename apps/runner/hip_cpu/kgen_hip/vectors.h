/// \file
/// Vector types: float4, uint2, dim3 and their like, with the operators of HIP.
#pragma once

#include <cstddef>
#include <type_traits>

#include "names.h"

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

namespace kgen_hip {

template <class T>
struct Vector1 {
  using value_type = T;
  static constexpr int k_size = 1;
  T x;
};
template <class T>
struct alignas(2 * sizeof(T)) Vector2 {
  using value_type = T;
  static constexpr int k_size = 2;
  T x, y;
};
template <class T>
struct Vector3 {
  using value_type = T;
  static constexpr int k_size = 3;
  T x, y, z;
};
// Vectors of four doubles lie at multiples of 16 bytes as on a device.
template <class T>
struct alignas(sizeof(T) >= 4 ? 16 : 4 * sizeof(T)) Vector4 {
  using value_type = T;
  static constexpr int k_size = 4;
  T x, y, z, w;
};

template <class V>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<Vector1<T>> : std::true_type {};
template <class T>
struct IsVector<Vector2<T>> : std::true_type {};
template <class T>
struct IsVector<Vector3<T>> : std::true_type {};
template <class T>
struct IsVector<Vector4<T>> : std::true_type {};
template <class V>
using IfVector = std::enable_if_t<IsVector<V>::value, int>;
template <class V, class S>
using IfVectorAndScalar = std::enable_if_t<IsVector<V>::value && std::is_arithmetic_v<S>, int>;

template <class V, class F>
V map_elements(const V& a, F f) {
  V result{};
  result.x = f(a.x);
  if constexpr (V::k_size > 1) result.y = f(a.y);
  if constexpr (V::k_size > 2) result.z = f(a.z);
  if constexpr (V::k_size > 3) result.w = f(a.w);
  return result;
}
template <class V, class F>
V map_elements(const V& a, const V& b, F f) {
  V result{};
  result.x = f(a.x, b.x);
  if constexpr (V::k_size > 1) result.y = f(a.y, b.y);
  if constexpr (V::k_size > 2) result.z = f(a.z, b.z);
  if constexpr (V::k_size > 3) result.w = f(a.w, b.w);
  return result;
}

template <class V>
V all_elements(typename V::value_type value) {
  return map_elements(V{}, [&](auto) { return value; });
}

#define KGEN_HIP_OPERATOR(op)                                                                              \
  template <class V, IfVector<V> = 0>                                                                      \
  inline V operator op(const V& a, const V& b) {                                                           \
    return map_elements(a, b, [](auto p, auto q) { return static_cast<typename V::value_type>(p op q); }); \
  }                                                                                                        \
  template <class V, class S, IfVectorAndScalar<V, S> = 0>                                                 \
  inline V operator op(const V& a, S b) {                                                                  \
    return a op all_elements<V>(static_cast<typename V::value_type>(b));                                   \
  }                                                                                                        \
  template <class V, class S, IfVectorAndScalar<V, S> = 0>                                                 \
  inline V operator op(S a, const V& b) {                                                                  \
    return all_elements<V>(static_cast<typename V::value_type>(a)) op b;                                   \
  }                                                                                                        \
  template <class V, class S, std::enable_if_t<IsVector<V>::value, int> = 0>                               \
  inline V& operator op##=(V& a, const S& b) {                                                             \
    return a = a op b;                                                                                     \
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

template <class V, IfVector<V> = 0>
inline V operator-(const V& a) {
  return map_elements(a, [](auto p) { return static_cast<typename V::value_type>(-p); });
}
template <class V, IfVector<V> = 0>
inline bool operator==(const V& a, const V& b) {
  bool same = a.x == b.x;
  if constexpr (V::k_size > 1) same = same && a.y == b.y;
  if constexpr (V::k_size > 2) same = same && a.z == b.z;
  if constexpr (V::k_size > 3) same = same && a.w == b.w;
  return same;
}
template <class V, IfVector<V> = 0>
inline bool operator!=(const V& a, const V& b) {
  return !(a == b);
}

}  // namespace kgen_hip

#define KGEN_HIP_VECTORS(name, type)                                          \
  using name##1 = kgen_hip::Vector1<type>;                                    \
  using name##2 = kgen_hip::Vector2<type>;                                    \
  using name##3 = kgen_hip::Vector3<type>;                                    \
  using name##4 = kgen_hip::Vector4<type>;                                    \
  inline name##1 make_##name##1(type x) { return {x}; }                       \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

KGEN_HIP_VECTOR_KINDS(KGEN_HIP_VECTORS)
#undef KGEN_HIP_VECTORS
