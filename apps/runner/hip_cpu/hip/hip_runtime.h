/// \file
/// HIP for the CPU: what kernels in HIP include when a processor executes them. Threads are fibers that take turns, so
/// results are those of a device; times are not, and neither are the order of memory accesses between blocks, occupancy
/// and registers. See docs/hip.md.
#pragma once

#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1
#define __HIP__ 1
#define __HIPCC__ 1
#define __HIP_DEVICE_COMPILE__ 1
#define KGEN_HIP_ON_CPU 1

#include "../kgen_hip/atomics.h"
#include "../kgen_hip/device.h"
#include "../kgen_hip/device_math.h"
#include "../kgen_hip/runtime_api.h"

#if KGEN_HIP_WAVE == 64
#define __GFX9__ 1
#else
#define __GFX10__ 1
#endif
#define __AMDGCN_WAVEFRONT_SIZE KGEN_HIP_WAVE
#define __AMDGCN_WAVEFRONT_SIZE__ KGEN_HIP_WAVE

inline unsigned __builtin_amdgcn_workitem_id_x() { return threadIdx.x; }
inline unsigned __builtin_amdgcn_workgroup_id_x() { return blockIdx.x; }
