/// \file
/// bfloat16: __hip_bfloat16, __hip_bfloat162, and their functions.
#pragma once

#include "hip_runtime.h"

// CUDA's header uses the names that are refused.
#include "../kgen_hip/allowed_names.h"

#include <cuda_bf16.h>

#include "../kgen_hip/refused_cuda_names.h"
#include "../kgen_hip/refused_wave_names.h"

using __hip_bfloat16 = __nv_bfloat16;
using __hip_bfloat162 = __nv_bfloat162;
using __hip_bfloat16_raw = __nv_bfloat16_raw;

KGEN_HIP_MIXED_OPERATORS(__nv_bfloat16, __bfloat162float)
