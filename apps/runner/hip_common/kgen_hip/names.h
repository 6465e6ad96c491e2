/// \file
/// Names of HIP that mean the same wherever kernels are executed. The build puts this file into both sets of headers.
#pragma once

#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

// Wishes for the registers of AMD GPUs: `__attribute__((amdgpu_waves_per_eu(2)))` becomes `__attribute__(())`.
#define amdgpu_flat_work_group_size(...)
#define amdgpu_max_num_work_groups(...)
#define amdgpu_num_sgpr(...)
#define amdgpu_num_vgpr(...)
#define amdgpu_waves_per_eu(...)

#define __HIP_MEMORY_SCOPE_SINGLETHREAD 1
#define __HIP_MEMORY_SCOPE_WAVEFRONT 2
#define __HIP_MEMORY_SCOPE_WORKGROUP 3
#define __HIP_MEMORY_SCOPE_AGENT 4
#define __HIP_MEMORY_SCOPE_SYSTEM 5

// clang and newer compilers have built-in functions of these names, which cannot be declared.
#define __hip_atomic_load kgen_hip_atomic_load
#define __hip_atomic_store kgen_hip_atomic_store
#define __hip_atomic_exchange kgen_hip_atomic_exchange
#define __hip_atomic_fetch_add kgen_hip_atomic_fetch_add
#define __hip_atomic_fetch_sub kgen_hip_atomic_fetch_sub
#define __hip_atomic_fetch_min kgen_hip_atomic_fetch_min
#define __hip_atomic_fetch_max kgen_hip_atomic_fetch_max
#define __hip_atomic_fetch_and kgen_hip_atomic_fetch_and
#define __hip_atomic_fetch_or kgen_hip_atomic_fetch_or
#define __hip_atomic_fetch_xor kgen_hip_atomic_fetch_xor
#define __hip_atomic_compare_exchange_strong kgen_hip_atomic_compare_exchange_strong
#define __hip_atomic_compare_exchange_weak kgen_hip_atomic_compare_exchange_weak

// The vector types: X(name without its size, type of an element). Signed and plain char are different types in C++,
// and long long is not long.
#define KGEN_HIP_VECTOR_KINDS(X)   \
  X(char, signed char)             \
  X(uchar, unsigned char)          \
  X(short, short)                  \
  X(ushort, unsigned short)        \
  X(int, int)                      \
  X(uint, unsigned)                \
  X(long, long)                    \
  X(ulong, unsigned long)          \
  X(longlong, long long)           \
  X(ulonglong, unsigned long long) \
  X(float, float)                  \
  X(double, double)
