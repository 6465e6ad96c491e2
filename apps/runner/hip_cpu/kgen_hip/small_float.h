/// \file
/// Numbers of 16 bits, float16 and bfloat16: a value and the operators that both have. Each operation is computed in
/// float32 and rounded once, which for + - * / and square roots gives the same bits as a unit of 16 bits.
#pragma once

#include <kernelgen/abi.h>

#include "atomics.h"
#include "device_math.h"

namespace kgen_hip {

struct Float16Format {
  static float widen(std::uint16_t bits) { return kgen_float16_to_float(bits); }
  static std::uint16_t narrow(float value) { return kgen_float_to_float16(value); }
};
struct Bfloat16Format {
  static float widen(std::uint16_t bits) { return kgen_bfloat16_to_float(bits); }
  static std::uint16_t narrow(float value) { return kgen_float_to_bfloat16(value); }
};

/// The first rounding must not decide a tie of the second one: double to float rounds to odd.
inline float round_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (static_cast<double>(nearest) == value || nearest != nearest || std::isinf(nearest)) return nearest;
  const bool too_far = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  const auto bits = bits_as<std::uint32_t>(nearest) - (too_far ? 1u : 0u);
  return bits_as<float>(bits | 1u);
}

template <class Format>
struct Float {
  std::uint16_t bits;

  Float() = default;
  template <class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0>
  Float(Number value) : bits(Format::narrow(round_to_odd(static_cast<double>(value)))) {}
  Float(float value) : bits(Format::narrow(value)) {}
#if defined(__FLT16_MAX__)
  Float(_Float16 value) : Float(static_cast<float>(value)) {}
  operator _Float16() const { return static_cast<_Float16>(Format::widen(bits)); }
#endif
  operator float() const { return Format::widen(bits); }
  explicit operator double() const { return static_cast<double>(Format::widen(bits)); }
  explicit operator int() const { return static_cast<int>(Format::widen(bits)); }
  explicit operator unsigned() const { return static_cast<unsigned>(Format::widen(bits)); }
  explicit operator bool() const { return (bits & 0x7FFFu) != 0; }

  static Float of_bits(std::uint16_t bits) {
    Float result;
    result.bits = bits;
    return result;
  }
  [[nodiscard]] float wide() const { return Format::widen(bits); }

  friend Float operator+(Float a, Float b) { return Float(a.wide() + b.wide()); }
  friend Float operator-(Float a, Float b) { return Float(a.wide() - b.wide()); }
  friend Float operator*(Float a, Float b) { return Float(a.wide() * b.wide()); }
  friend Float operator/(Float a, Float b) { return Float(a.wide() / b.wide()); }
  friend Float operator-(Float a) { return of_bits(static_cast<std::uint16_t>(a.bits ^ 0x8000u)); }
  friend Float operator+(Float a) { return a; }
  Float& operator+=(Float b) { return *this = *this + b; }
  Float& operator-=(Float b) { return *this = *this - b; }
  Float& operator*=(Float b) { return *this = *this * b; }
  Float& operator/=(Float b) { return *this = *this / b; }
  friend bool operator==(Float a, Float b) { return a.wide() == b.wide(); }
  friend bool operator!=(Float a, Float b) { return a.wide() != b.wide(); }
  friend bool operator<(Float a, Float b) { return a.wide() < b.wide(); }
  friend bool operator>(Float a, Float b) { return a.wide() > b.wide(); }
  friend bool operator<=(Float a, Float b) { return a.wide() <= b.wide(); }
  friend bool operator>=(Float a, Float b) { return a.wide() >= b.wide(); }
};

// With a number beside it: in float32, as the conversion to float makes it.
#define KGEN_HIP_MIXED(op)                                                                       \
  template <class Format, class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0> \
  auto operator op(Float<Format> a, Number b) {                                                  \
    return a.wide() op b;                                                                        \
  }                                                                                              \
  template <class Format, class Number, std::enable_if_t<std::is_arithmetic_v<Number>, int> = 0> \
  auto operator op(Number a, Float<Format> b) {                                                  \
    return a op b.wide();                                                                        \
  }
KGEN_HIP_MIXED(+)
KGEN_HIP_MIXED(-)
KGEN_HIP_MIXED(*)
KGEN_HIP_MIXED(/)
KGEN_HIP_MIXED(==)
KGEN_HIP_MIXED(!=)
KGEN_HIP_MIXED(<)
KGEN_HIP_MIXED(>)
KGEN_HIP_MIXED(<=)
KGEN_HIP_MIXED(>=)
#undef KGEN_HIP_MIXED

template <class Format>
struct alignas(4) FloatPair {
  Float<Format> x, y;

  friend FloatPair operator+(FloatPair a, FloatPair b) { return {a.x + b.x, a.y + b.y}; }
  friend FloatPair operator-(FloatPair a, FloatPair b) { return {a.x - b.x, a.y - b.y}; }
  friend FloatPair operator*(FloatPair a, FloatPair b) { return {a.x * b.x, a.y * b.y}; }
  friend FloatPair operator/(FloatPair a, FloatPair b) { return {a.x / b.x, a.y / b.y}; }
  friend FloatPair operator-(FloatPair a) { return {-a.x, -a.y}; }
  FloatPair& operator+=(FloatPair b) { return *this = *this + b; }
  FloatPair& operator-=(FloatPair b) { return *this = *this - b; }
  FloatPair& operator*=(FloatPair b) { return *this = *this * b; }
  friend bool operator==(FloatPair a, FloatPair b) { return a.x == b.x && a.y == b.y; }
};

template <class Format>
inline Float<Format> fused(Float<Format> a, Float<Format> b, Float<Format> c) {
  // The product is exact in double, and the sum is rounded to odd before its last rounding.
  return Float<Format>(static_cast<double>(a.wide()) * static_cast<double>(b.wide()) + static_cast<double>(c.wide()));
}

}  // namespace kgen_hip

#define KGEN_HIP_FLOAT_FUNCTIONS(F)                                                                                  \
  inline kgen_hip::Float<F> __hadd(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a + b; }                     \
  inline kgen_hip::Float<F> __hsub(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a - b; }                     \
  inline kgen_hip::Float<F> __hmul(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a * b; }                     \
  inline kgen_hip::Float<F> __hdiv(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a / b; }                     \
  inline kgen_hip::Float<F> __hneg(kgen_hip::Float<F> a) { return -a; }                                              \
  inline kgen_hip::Float<F> __habs(kgen_hip::Float<F> a) {                                                           \
    return kgen_hip::Float<F>::of_bits(static_cast<std::uint16_t>(a.bits & 0x7FFFu));                                \
  }                                                                                                                  \
  inline kgen_hip::Float<F> __hmax(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return fmaxf(a.wide(), b.wide()); } \
  inline kgen_hip::Float<F> __hmin(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return fminf(a.wide(), b.wide()); } \
  inline kgen_hip::Float<F> __hfma(kgen_hip::Float<F> a, kgen_hip::Float<F> b, kgen_hip::Float<F> c) {               \
    return kgen_hip::fused(a, b, c);                                                                                 \
  }                                                                                                                  \
  inline bool __heq(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a == b; }                                   \
  inline bool __hne(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a != b; }                                   \
  inline bool __hlt(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a < b; }                                    \
  inline bool __hle(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a <= b; }                                   \
  inline bool __hgt(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a > b; }                                    \
  inline bool __hge(kgen_hip::Float<F> a, kgen_hip::Float<F> b) { return a >= b; }                                   \
  inline bool __hisnan(kgen_hip::Float<F> a) { return a.wide() != a.wide(); }                                        \
  inline int __hisinf(kgen_hip::Float<F> a) { return std::isinf(a.wide()) ? 1 : 0; }                                 \
  inline kgen_hip::Float<F> hsqrt(kgen_hip::Float<F> a) { return sqrtf(a.wide()); }                                  \
  inline kgen_hip::Float<F> hrsqrt(kgen_hip::Float<F> a) { return rsqrtf(a.wide()); }                                \
  inline kgen_hip::Float<F> hrcp(kgen_hip::Float<F> a) { return 1.0f / a.wide(); }                                   \
  inline kgen_hip::Float<F> hexp(kgen_hip::Float<F> a) { return expf(a.wide()); }                                    \
  inline kgen_hip::Float<F> hexp2(kgen_hip::Float<F> a) { return exp2f(a.wide()); }                                  \
  inline kgen_hip::Float<F> hlog(kgen_hip::Float<F> a) { return logf(a.wide()); }                                    \
  inline kgen_hip::Float<F> hlog2(kgen_hip::Float<F> a) { return log2f(a.wide()); }                                  \
  inline kgen_hip::Float<F> hsin(kgen_hip::Float<F> a) { return sinf(a.wide()); }                                    \
  inline kgen_hip::Float<F> hcos(kgen_hip::Float<F> a) { return cosf(a.wide()); }                                    \
  inline kgen_hip::Float<F> hfloor(kgen_hip::Float<F> a) { return floorf(a.wide()); }                                \
  inline kgen_hip::Float<F> hceil(kgen_hip::Float<F> a) { return ceilf(a.wide()); }                                  \
  inline kgen_hip::Float<F> htrunc(kgen_hip::Float<F> a) { return truncf(a.wide()); }                                \
  inline kgen_hip::Float<F> hrint(kgen_hip::Float<F> a) { return rintf(a.wide()); }                                  \
  inline kgen_hip::FloatPair<F> __hadd2(kgen_hip::FloatPair<F> a, kgen_hip::FloatPair<F> b) { return a + b; }        \
  inline kgen_hip::FloatPair<F> __hsub2(kgen_hip::FloatPair<F> a, kgen_hip::FloatPair<F> b) { return a - b; }        \
  inline kgen_hip::FloatPair<F> __hmul2(kgen_hip::FloatPair<F> a, kgen_hip::FloatPair<F> b) { return a * b; }        \
  inline kgen_hip::FloatPair<F> __h2div(kgen_hip::FloatPair<F> a, kgen_hip::FloatPair<F> b) { return a / b; }        \
  inline kgen_hip::FloatPair<F> __hneg2(kgen_hip::FloatPair<F> a) { return -a; }                                     \
  inline kgen_hip::FloatPair<F> __habs2(kgen_hip::FloatPair<F> a) { return {__habs(a.x), __habs(a.y)}; }             \
  inline kgen_hip::FloatPair<F> __hmax2(kgen_hip::FloatPair<F> a, kgen_hip::FloatPair<F> b) {                        \
    return {__hmax(a.x, b.x), __hmax(a.y, b.y)};                                                                     \
  }                                                                                                                  \
  inline kgen_hip::FloatPair<F> __hmin2(kgen_hip::FloatPair<F> a, kgen_hip::FloatPair<F> b) {                        \
    return {__hmin(a.x, b.x), __hmin(a.y, b.y)};                                                                     \
  }                                                                                                                  \
  inline kgen_hip::FloatPair<F> __hfma2(kgen_hip::FloatPair<F> a, kgen_hip::FloatPair<F> b,                          \
                                        kgen_hip::FloatPair<F> c) {                                                  \
    return {kgen_hip::fused(a.x, b.x, c.x), kgen_hip::fused(a.y, b.y, c.y)};                                         \
  }                                                                                                                  \
  inline kgen_hip::FloatPair<F> h2exp(kgen_hip::FloatPair<F> a) { return {hexp(a.x), hexp(a.y)}; }                   \
  inline kgen_hip::FloatPair<F> h2sqrt(kgen_hip::FloatPair<F> a) { return {hsqrt(a.x), hsqrt(a.y)}; }                \
  inline kgen_hip::FloatPair<F> h2rcp(kgen_hip::FloatPair<F> a) { return {hrcp(a.x), hrcp(a.y)}; }
