/// \file
/// HIP for NVIDIA: what kernels in HIP include when nvcc compiles them. The names are HIP's, the work is CUDA's. A
/// source that depends on AMD's wavefront of 64 lanes or on AMD's instructions is refused by name. nvcc needs
/// -std=c++17 or newer, --expt-relaxed-constexpr and --extended-lambda, because clang calls constexpr functions from
/// kernels by itself.
#pragma once

// The path of a source for AMD is the one to judge, not one that it has for NVIDIA.
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1
#define __HIP__ 1
#define __HIPCC__ 1
#if defined(__CUDA_ARCH__)
#define __HIP_DEVICE_COMPILE__ 1
#endif
#define KGEN_HIP_ON_CUDA 1

#include <cuda_fp16.h>

#include "../kgen_hip/atomics.h"
#include "../kgen_hip/device.h"
#include "../kgen_hip/device_math.h"
#include "../kgen_hip/lanes.h"
#include "../kgen_hip/runtime_api.h"
#include "../kgen_hip/small_float.h"
#include "../kgen_hip/vectors.h"

// The last ones, because the headers above use these names.
#include "../kgen_hip/refused_cuda_names.h"
#include "../kgen_hip/refused_names.h"
#include "../kgen_hip/refused_wave_names.h"
