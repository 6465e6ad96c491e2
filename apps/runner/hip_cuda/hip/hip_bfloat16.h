/// \file
/// bfloat16 as the older header has it: hip_bfloat16, with its bits in the member `data`. As on AMD, the type
/// __hip_bfloat16 is in hip_bf16.h only.
#pragma once

#include "hip_runtime.h"

struct hip_bfloat16 {
  unsigned short data;

  hip_bfloat16() = default;
  __host__ __device__ hip_bfloat16(float value) : data(rounded(value)) {}
  __host__ __device__ operator float() const {
    const unsigned bits = static_cast<unsigned>(data) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }

  static __host__ __device__ hip_bfloat16 round_to_bfloat16(float value) { return hip_bfloat16(value); }
  __host__ __device__ hip_bfloat16& operator+=(hip_bfloat16 b) { return *this = hip_bfloat16(float(*this) + float(b)); }
  __host__ __device__ hip_bfloat16& operator-=(hip_bfloat16 b) { return *this = hip_bfloat16(float(*this) - float(b)); }
  __host__ __device__ hip_bfloat16& operator*=(hip_bfloat16 b) { return *this = hip_bfloat16(float(*this) * float(b)); }
  __host__ __device__ hip_bfloat16& operator/=(hip_bfloat16 b) { return *this = hip_bfloat16(float(*this) / float(b)); }

 private:
  /// The bits of the nearest bfloat16; ties to even.
  static __host__ __device__ unsigned short rounded(float value) {
    unsigned bits;
    memcpy(&bits, &value, sizeof bits);
    if (value != value) return 0x7FC0u;
    return static_cast<unsigned short>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
  }
};
#define KGEN_HIP_OPERATOR(op)                                                           \
  inline __host__ __device__ hip_bfloat16 operator op(hip_bfloat16 a, hip_bfloat16 b) { \
    return hip_bfloat16(float(a) op float(b));                                          \
  }
KGEN_HIP_OPERATOR(+)
KGEN_HIP_OPERATOR(-)
KGEN_HIP_OPERATOR(*)
KGEN_HIP_OPERATOR(/)
#undef KGEN_HIP_OPERATOR
KGEN_HIP_MIXED_OPERATORS(hip_bfloat16, static_cast<float>)
