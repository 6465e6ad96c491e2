/// \file
/// Mathematics of kernels. The processor's functions are as accurate as HIP's or more so; "fast" ones are the same.
#pragma once

#include <math.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

namespace kgen_hip {

template <class To, class From>
inline To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From), "the same bits");
  To result;
  std::memcpy(&result, &value, sizeof result);
  return result;
}
template <class A, class B>
using IfNumbers = std::enable_if_t<std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, std::common_type_t<A, B>>;

/// Numbers outside the range of the integer become its ends, and NaN becomes 0, as on a device.
template <class Integer, class Real>
inline Integer to_integer(Real value) {
  if (value != value) return 0;
  // The limits are powers of two or one less; the comparisons are with the power.
  const Real least = static_cast<Real>(std::numeric_limits<Integer>::min());
  const Real beyond = std::ldexp(Real{1}, std::numeric_limits<Integer>::digits);
  if (value <= least) return std::numeric_limits<Integer>::min();
  return value >= beyond ? std::numeric_limits<Integer>::max() : static_cast<Integer>(value);
}

}  // namespace kgen_hip

// Exact types come first, because `using namespace std` would make others ambiguous.
#define KGEN_HIP_MIN_MAX(type)                              \
  inline type min(type a, type b) { return b < a ? b : a; } \
  inline type max(type a, type b) { return a < b ? b : a; }
KGEN_HIP_MIN_MAX(int)
KGEN_HIP_MIN_MAX(unsigned)
KGEN_HIP_MIN_MAX(long)
KGEN_HIP_MIN_MAX(unsigned long)
KGEN_HIP_MIN_MAX(long long)
KGEN_HIP_MIN_MAX(unsigned long long)
#undef KGEN_HIP_MIN_MAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
template <class A, class B>
inline kgen_hip::IfNumbers<A, B> min(A a, B b) {
  using C = std::common_type_t<A, B>;
  return static_cast<C>(b) < static_cast<C>(a) ? static_cast<C>(b) : static_cast<C>(a);
}
template <class A, class B>
inline kgen_hip::IfNumbers<A, B> max(A a, B b) {
  using C = std::common_type_t<A, B>;
  return static_cast<C>(a) < static_cast<C>(b) ? static_cast<C>(b) : static_cast<C>(a);
}
inline int umin(unsigned a, unsigned b) { return static_cast<int>(b < a ? b : a); }
inline int umax(unsigned a, unsigned b) { return static_cast<int>(a < b ? b : a); }

// ---- Functions of one argument that C++ does not have. ----
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline float sinpif(float x) { return static_cast<float>(sin(M_PI * static_cast<double>(x))); }
inline float cospif(float x) { return static_cast<float>(cos(M_PI * static_cast<double>(x))); }
inline double sinpi(double x) { return sin(M_PI * x); }
inline double cospi(double x) { return cos(M_PI * x); }
inline void sincospif(float x, float* sine, float* cosine) { *sine = sinpif(x), *cosine = cospif(x); }
inline void sincos(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
inline float normcdff(float x) { return static_cast<float>(0.5 * erfc(-static_cast<double>(x) * M_SQRT1_2)); }
inline float fdividef(float a, float b) { return a / b; }
namespace kgen_hip {
inline float power_of_ten(float x) { return static_cast<float>(pow(10.0, static_cast<double>(x))); }
}  // namespace kgen_hip

inline float __expf(float x) { return expf(x); }
inline float __exp2f(float x) { return exp2f(x); }
inline float __exp10f(float x) { return kgen_hip::power_of_ten(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline void __sincosf(float x, float* sine, float* cosine) { *sine = sinf(x), *cosine = cosf(x); }
inline float __saturatef(float x) { return x != x ? 0.0f : fminf(fmaxf(x, 0.0f), 1.0f); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
// Each rounds once: the compiler must not join them to others.
__attribute__((noinline)) inline float __fadd_rn(float a, float b) { return a + b; }
__attribute__((noinline)) inline float __fsub_rn(float a, float b) { return a - b; }
__attribute__((noinline)) inline float __fmul_rn(float a, float b) { return a * b; }
__attribute__((noinline)) inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
__attribute__((noinline)) inline double __dadd_rn(double a, double b) { return a + b; }
__attribute__((noinline)) inline double __dmul_rn(double a, double b) { return a * b; }

inline float __builtin_amdgcn_rcpf(float x) { return 1.0f / x; }
inline float __builtin_amdgcn_rsqf(float x) { return rsqrtf(x); }
inline float __builtin_amdgcn_sqrtf(float x) { return sqrtf(x); }
inline float __builtin_amdgcn_exp2f(float x) { return exp2f(x); }
inline float __builtin_amdgcn_logf(float x) { return log2f(x); }
inline float __builtin_amdgcn_fmed3f(float a, float b, float c) { return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c)); }

// ---- Bits ----
inline int __float_as_int(float x) { return kgen_hip::bits_as<int>(x); }
inline unsigned __float_as_uint(float x) { return kgen_hip::bits_as<unsigned>(x); }
inline float __int_as_float(int x) { return kgen_hip::bits_as<float>(x); }
inline float __uint_as_float(unsigned x) { return kgen_hip::bits_as<float>(x); }
inline long long __double_as_longlong(double x) { return kgen_hip::bits_as<long long>(x); }
inline double __longlong_as_double(long long x) { return kgen_hip::bits_as<double>(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int __ffsll(unsigned long long x) { return __builtin_ffsll(static_cast<long long>(x)); }
inline int __ffsll(unsigned long x) { return __builtin_ffsll(static_cast<long long>(x)); }
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) result |= (x >> i & 1u) << (31 - i);
  return result;
}
inline unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(b) << 32 | a;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) result |= static_cast<unsigned>(bytes >> (selector >> (4 * i) & 7) * 8 & 0xFF) << (8 * i);
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}

// ---- Integers ----
inline int __mulhi(int a, int b) { return static_cast<int>(static_cast<long long>(a) * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __mul24(int a, int b) {
  const auto low = [](int x) { return static_cast<int>(static_cast<unsigned>(x) << 8) >> 8; };
  return static_cast<int>(static_cast<long long>(low(a)) * low(b));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xFFFFFF) * (b & 0xFFFFFF); }
inline unsigned __sad(int a, int b, unsigned c) { return c + static_cast<unsigned>(a < b ? b - a : a - b); }

// ---- Conversions ----
#define KGEN_HIP_CONVERSIONS(suffix, type)                                                      \
  inline type __float2##suffix##_rn(float x) { return kgen_hip::to_integer<type>(rintf(x)); }   \
  inline type __float2##suffix##_rz(float x) { return kgen_hip::to_integer<type>(truncf(x)); }  \
  inline type __float2##suffix##_rd(float x) { return kgen_hip::to_integer<type>(floorf(x)); }  \
  inline type __float2##suffix##_ru(float x) { return kgen_hip::to_integer<type>(ceilf(x)); }   \
  inline type __double2##suffix##_rn(double x) { return kgen_hip::to_integer<type>(rint(x)); }  \
  inline type __double2##suffix##_rz(double x) { return kgen_hip::to_integer<type>(trunc(x)); } \
  inline float __##suffix##2float_rn(type x) { return static_cast<float>(x); }                  \
  inline double __##suffix##2double_rn(type x) { return static_cast<double>(x); }
KGEN_HIP_CONVERSIONS(int, int)
KGEN_HIP_CONVERSIONS(uint, unsigned)
KGEN_HIP_CONVERSIONS(ll, long long)
KGEN_HIP_CONVERSIONS(ull, unsigned long long)
#undef KGEN_HIP_CONVERSIONS
inline float __double2float_rn(double x) { return static_cast<float>(x); }

// ---- Clocks: they advance, and say nothing about a device. ----
inline long long clock64() {
  static long long ticks = 0;
  return ticks += 100;
}
inline long long wall_clock64() { return clock64(); }
inline unsigned long long __builtin_amdgcn_s_memtime() { return static_cast<unsigned long long>(clock64()); }
inline unsigned long long __builtin_amdgcn_s_memrealtime() { return static_cast<unsigned long long>(clock64()); }
