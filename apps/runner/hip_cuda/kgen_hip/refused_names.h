/// \file
/// Names that only HIP has, and that no NVIDIA GPU can execute as an AMD GPU does. A name of `__builtin_amdgcn_` that
/// is missing here is an undefined identifier, which nvcc's own message names.
#pragma once

#include "refusal.h"

// ---- Sizes and numbers of lanes ----
#define __AMDGCN_WAVEFRONT_SIZE KGEN_HIP_WAVE_ERROR(__AMDGCN_WAVEFRONT_SIZE)
#define __AMDGCN_WAVEFRONT_SIZE__ KGEN_HIP_WAVE_ERROR(__AMDGCN_WAVEFRONT_SIZE__)
#define hipDeviceAttributeWarpSize KGEN_HIP_WAVE_ERROR(hipDeviceAttributeWarpSize)
#define __lane_id(...) KGEN_HIP_WAVE_ERROR(__lane_id)
#define __builtin_amdgcn_wavefrontsize(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_wavefrontsize)
#define __builtin_amdgcn_mbcnt_lo(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_mbcnt_lo)
#define __builtin_amdgcn_mbcnt_hi(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_mbcnt_hi)
#define __builtin_amdgcn_wave_barrier(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_wave_barrier)
#define __builtin_amdgcn_ballot_w64(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_ballot_w64)
#define __builtin_amdgcn_ballot_w32(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_ballot_w32)
#define __builtin_amdgcn_read_exec(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_read_exec)
#define __builtin_amdgcn_uicmp(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_uicmp)
#define __builtin_amdgcn_sicmp(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_sicmp)
#define __builtin_amdgcn_fcmp(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_fcmp)
#define __builtin_amdgcn_uicmpl(...) KGEN_HIP_WAVE_ERROR(__builtin_amdgcn_uicmpl)

// ---- Exchanges between lanes ----
#define __builtin_amdgcn_readfirstlane(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_readfirstlane)
#define __builtin_amdgcn_readlane(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_readlane)
#define __builtin_amdgcn_writelane(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_writelane)
#define __builtin_amdgcn_ds_bpermute(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_ds_bpermute)
#define __builtin_amdgcn_ds_permute(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_ds_permute)
#define __builtin_amdgcn_ds_swizzle(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_ds_swizzle)
#define __builtin_amdgcn_mov_dpp(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_mov_dpp)
#define __builtin_amdgcn_mov_dpp8(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_mov_dpp8)
#define __builtin_amdgcn_update_dpp(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_update_dpp)
#define __builtin_amdgcn_permlane16(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_permlane16)
#define __builtin_amdgcn_permlanex16(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_permlanex16)
#define __builtin_amdgcn_permlane64(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_permlane64)
#define __builtin_amdgcn_permlane16_swap(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_permlane16_swap)
#define __builtin_amdgcn_permlane32_swap(...) KGEN_HIP_EXCHANGE_ERROR(__builtin_amdgcn_permlane32_swap)
#define __hip_ds_swizzle(...) KGEN_HIP_EXCHANGE_ERROR(__hip_ds_swizzle)
#define __hip_move_dpp(...) KGEN_HIP_EXCHANGE_ERROR(__hip_move_dpp)
#define __hip_ds_bpermute(...) KGEN_HIP_EXCHANGE_ERROR(__hip_ds_bpermute)
#define __hip_ds_permute(...) KGEN_HIP_EXCHANGE_ERROR(__hip_ds_permute)

// ---- Matrix instructions ----
#define __builtin_amdgcn_mfma_f32_32x32x1f32(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x1f32)
#define __builtin_amdgcn_mfma_f32_16x16x1f32(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x1f32)
#define __builtin_amdgcn_mfma_f32_4x4x1f32(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_4x4x1f32)
#define __builtin_amdgcn_mfma_f32_32x32x2f32(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x2f32)
#define __builtin_amdgcn_mfma_f32_16x16x4f32(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x4f32)
#define __builtin_amdgcn_mfma_f32_32x32x4f16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x4f16)
#define __builtin_amdgcn_mfma_f32_16x16x4f16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x4f16)
#define __builtin_amdgcn_mfma_f32_4x4x4f16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_4x4x4f16)
#define __builtin_amdgcn_mfma_f32_32x32x8f16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x8f16)
#define __builtin_amdgcn_mfma_f32_16x16x16f16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x16f16)
#define __builtin_amdgcn_mfma_i32_32x32x4i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_i32_32x32x4i8)
#define __builtin_amdgcn_mfma_i32_16x16x4i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_i32_16x16x4i8)
#define __builtin_amdgcn_mfma_i32_4x4x4i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_i32_4x4x4i8)
#define __builtin_amdgcn_mfma_i32_32x32x8i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_i32_32x32x8i8)
#define __builtin_amdgcn_mfma_i32_16x16x16i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_i32_16x16x16i8)
#define __builtin_amdgcn_mfma_f32_32x32x2bf16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x2bf16)
#define __builtin_amdgcn_mfma_f32_16x16x2bf16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x2bf16)
#define __builtin_amdgcn_mfma_f32_4x4x2bf16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_4x4x2bf16)
#define __builtin_amdgcn_mfma_f32_32x32x4bf16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x4bf16)
#define __builtin_amdgcn_mfma_f32_16x16x8bf16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x8bf16)
#define __builtin_amdgcn_mfma_f32_32x32x4bf16_1k(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x4bf16_1k)
#define __builtin_amdgcn_mfma_f32_16x16x4bf16_1k(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x4bf16_1k)
#define __builtin_amdgcn_mfma_f32_4x4x4bf16_1k(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_4x4x4bf16_1k)
#define __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x8bf16_1k)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x16bf16_1k)
#define __builtin_amdgcn_mfma_f64_16x16x4f64(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f64_16x16x4f64)
#define __builtin_amdgcn_mfma_f64_4x4x4f64(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f64_4x4x4f64)
#define __builtin_amdgcn_mfma_i32_16x16x32_i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_i32_16x16x32_i8)
#define __builtin_amdgcn_mfma_i32_32x32x16_i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_i32_32x32x16_i8)
#define __builtin_amdgcn_mfma_f32_16x16x8_xf32(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x8_xf32)
#define __builtin_amdgcn_mfma_f32_32x32x4_xf32(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x4_xf32)
#define __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8)
#define __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8)
#define __builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x32_fp8_bf8)
#define __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8)
#define __builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x16_bf8_bf8)
#define __builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x16_bf8_fp8)
#define __builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x16_fp8_bf8)
#define __builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x16_fp8_fp8)
#define __builtin_amdgcn_mfma_f32_16x16x32_f16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x32_f16)
#define __builtin_amdgcn_mfma_f32_32x32x16_f16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x16_f16)
#define __builtin_amdgcn_mfma_f32_16x16x32_bf16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_16x16x32_bf16)
#define __builtin_amdgcn_mfma_f32_32x32x16_bf16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_f32_32x32x16_bf16)
#define __builtin_amdgcn_mfma_i32_16x16x64_i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_i32_16x16x64_i8)
#define __builtin_amdgcn_mfma_i32_32x32x32_i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_i32_32x32x32_i8)
#define __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4)
#define __builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_mfma_scale_f32_32x32x64_f8f6f4)
#define __builtin_amdgcn_smfmac_f32_16x16x32_f16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_smfmac_f32_16x16x32_f16)
#define __builtin_amdgcn_smfmac_f32_32x32x16_f16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_smfmac_f32_32x32x16_f16)
#define __builtin_amdgcn_smfmac_f32_16x16x32_bf16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_smfmac_f32_16x16x32_bf16)
#define __builtin_amdgcn_smfmac_f32_32x32x16_bf16(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_smfmac_f32_32x32x16_bf16)
#define __builtin_amdgcn_smfmac_i32_16x16x64_i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_smfmac_i32_16x16x64_i8)
#define __builtin_amdgcn_smfmac_i32_32x32x32_i8(...) KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_smfmac_i32_32x32x32_i8)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f32_16x16x16_f16_w32)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w64(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f32_16x16x16_f16_w64)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w64_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f32_16x16x16_f16_w64_gfx12)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f32_16x16x16_bf16_w32)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w64(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f32_16x16x16_bf16_w64)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w64_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f32_16x16x16_bf16_w64_gfx12)
#define __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f16_16x16x16_f16_w32)
#define __builtin_amdgcn_wmma_f16_16x16x16_f16_w64(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f16_16x16x16_f16_w64)
#define __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12)
#define __builtin_amdgcn_wmma_f16_16x16x16_f16_w64_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_f16_16x16x16_f16_w64_gfx12)
#define __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32)
#define __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w64(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_bf16_16x16x16_bf16_w64)
#define __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_bf16_16x16x16_bf16_w32_gfx12)
#define __builtin_amdgcn_wmma_bf16_16x16x16_bf16_w64_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_bf16_16x16x16_bf16_w64_gfx12)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_i32_16x16x16_iu8_w32)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w64(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_i32_16x16x16_iu8_w64)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu8_w64_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_i32_16x16x16_iu8_w64_gfx12)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_i32_16x16x16_iu4_w32)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu4_w64(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_i32_16x16x16_iu4_w64)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_i32_16x16x16_iu4_w32_gfx12)
#define __builtin_amdgcn_wmma_i32_16x16x16_iu4_w64_gfx12(...) \
  KGEN_HIP_MATRIX_ERROR(__builtin_amdgcn_wmma_i32_16x16x16_iu4_w64_gfx12)

// ---- Vectors of clang ----
// nvcc would ignore the attribute, and the vector would be a single number.
#define ext_vector_type(...) KGEN_HIP_VECTOR_ERROR(ext_vector_type)
#define __ext_vector_type__(...) KGEN_HIP_VECTOR_ERROR(__ext_vector_type__)
