/// \file
/// Cooperative groups: CUDA has the names of HIP. Groups that follow AMD's wavefront of 64 lanes are refused.
#pragma once

#include "hip_runtime.h"

// CUDA's header uses the names that are refused.
#include "../kgen_hip/allowed_names.h"

#include <cooperative_groups.h>

#include "../kgen_hip/refused_cuda_names.h"
#include "../kgen_hip/refused_wave_names.h"

namespace cooperative_groups {

/// tiled_partition<64>() makes it.
template <class Parent>
class thread_block_tile<64, Parent> {
  static_assert(kgen_hip::AlwaysFalse<Parent>::value,
                "thread_block_tile<64> depends on the 64 lanes of the wavefront of an AMD GPU, and this source is "
                "executed on NVIDIA, where there are 32; use tiles of up to 32");
};
/// CUDA's specialization for tiles without a parent would be closer than the one above.
template <>
class thread_block_tile<64, void> {
 public:
  template <class Tile>
  __device__ thread_block_tile(const Tile&) {
    static_assert(kgen_hip::AlwaysFalse<Tile>::value,
                  "thread_block_tile<64> depends on the 64 lanes of the wavefront of an AMD GPU, and this source is "
                  "executed on NVIDIA, where there are 32; use tiles of up to 32");
  }
};

}  // namespace cooperative_groups

#define coalesced_threads(...) KGEN_HIP_WAVE_ERROR(coalesced_threads)
