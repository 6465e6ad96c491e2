/// \file
/// Exchanges between lanes. Those with a width of up to 32 mean the same on NVIDIA; all others are refused.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "device.h"

// What a failed assert() calls. The C library does not declare it for a source with NDEBUG.
extern "C" __host__ __device__ void __assert_fail(const char*, const char*, unsigned, const char*) noexcept;

namespace kgen_hip {

/// Ends the kernel with a message where a number is known at run time only. A known one costs nothing.
__device__ __forceinline__ void require(bool holds, const char* text) {
  if (!holds) __assert_fail(text, "a shuffle, executed on NVIDIA", 0, "wavefronts of 32 lanes");
}
__device__ __forceinline__ void check_width(int width) { require(width > 0 && width <= 32, "a width of up to 32"); }

// HIP's functions have no mask: they exchange between the lanes that execute them together. These are the lanes of
// __activemask(). A mask of all lanes would wait for ever where only some of them come here, as in a branch.
template <class T>
__device__ __forceinline__ T shfl(T value, int source, int width) {
  check_width(width);
  return __shfl_sync(__activemask(), value, source, width);
}
template <class T>
__device__ __forceinline__ T shfl_up(T value, unsigned delta, int width) {
  check_width(width);
  return __shfl_up_sync(__activemask(), value, delta, width);
}
template <class T>
__device__ __forceinline__ T shfl_down(T value, unsigned delta, int width) {
  check_width(width);
  return __shfl_down_sync(__activemask(), value, delta, width);
}
template <class T>
__device__ __forceinline__ T shfl_xor(T value, int mask, int width) {
  check_width(width);
  // From 32 on it would reach the other half of AMD's wavefront.
  require(static_cast<unsigned>(mask) < 32, "an exclusive or of less than 32");
  return __shfl_xor_sync(__activemask(), value, mask, width);
}

// A macro counts commas, also those between the arguments of a template; the compiler counts arguments.
#define KGEN_HIP_WITHOUT_WIDTH(name)                                                                   \
  template <class T, class Lane>                                                                       \
  __device__ T name(T value, Lane) {                                                                   \
    static_assert(AlwaysFalse<T>::value,                                                               \
                  "__" #name                                                                           \
                  " without a width depends on the 64 lanes of the wavefront of an AMD GPU, and this " \
                  "source is executed on NVIDIA, where there are 32; pass the width, up to 32");       \
    return value;                                                                                      \
  }
KGEN_HIP_WITHOUT_WIDTH(shfl)
KGEN_HIP_WITHOUT_WIDTH(shfl_up)
KGEN_HIP_WITHOUT_WIDTH(shfl_down)
KGEN_HIP_WITHOUT_WIDTH(shfl_xor)
#undef KGEN_HIP_WITHOUT_WIDTH

}  // namespace kgen_hip
