/// \file
/// bfloat16 as the older header has it: hip_bfloat16, with its bits in the member `data`.
#pragma once

#include "hip_bf16.h"

struct hip_bfloat16 {
  std::uint16_t data;

  hip_bfloat16() = default;
  hip_bfloat16(float value) : data(kgen_float_to_bfloat16(value)) {}
  hip_bfloat16(__hip_bfloat16 value) : data(value.bits) {}
  operator float() const { return kgen_bfloat16_to_float(data); }

  static hip_bfloat16 round_to_bfloat16(float value) { return hip_bfloat16(value); }
  hip_bfloat16& operator+=(hip_bfloat16 b) { return *this = hip_bfloat16(float(*this) + float(b)); }
  hip_bfloat16& operator-=(hip_bfloat16 b) { return *this = hip_bfloat16(float(*this) - float(b)); }
  hip_bfloat16& operator*=(hip_bfloat16 b) { return *this = hip_bfloat16(float(*this) * float(b)); }
};
inline hip_bfloat16 operator+(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) + float(b)); }
inline hip_bfloat16 operator-(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) - float(b)); }
inline hip_bfloat16 operator*(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) * float(b)); }
inline hip_bfloat16 operator/(hip_bfloat16 a, hip_bfloat16 b) { return hip_bfloat16(float(a) / float(b)); }
