/// \file
/// Names that CUDA has, too, and that depend on a wavefront of 64 lanes on AMD. allowed_names.h takes them back for
/// CUDA's own headers, after which this file is included again: it has no guard.
///
/// Votes and masks of lanes (__ballot, __any, __all, __activemask) are refused in every form, because a call does not
/// show whether a source would do with 32 lanes: a count of bits may be a rank among 64.

#include "refusal.h"

// ---- Sizes and numbers of lanes ----
#define warpSize KGEN_HIP_WAVE_ERROR(warpSize)

// ---- Shuffles: with a width of up to 32 they are those of NVIDIA ----
#define __shfl(...) KGEN_HIP_SHUFFLE(shfl, __VA_ARGS__)
#define __shfl_up(...) KGEN_HIP_SHUFFLE(shfl_up, __VA_ARGS__)
#define __shfl_down(...) KGEN_HIP_SHUFFLE(shfl_down, __VA_ARGS__)
#define __shfl_xor(...) KGEN_HIP_SHUFFLE(shfl_xor, __VA_ARGS__)

// Their masks have 64 bits, one for each lane of a wavefront.
#define __shfl_sync(...) KGEN_HIP_WAVE_ERROR(__shfl_sync)
#define __shfl_up_sync(...) KGEN_HIP_WAVE_ERROR(__shfl_up_sync)
#define __shfl_down_sync(...) KGEN_HIP_WAVE_ERROR(__shfl_down_sync)
#define __shfl_xor_sync(...) KGEN_HIP_WAVE_ERROR(__shfl_xor_sync)

// ---- Votes, masks, barriers ----
#define __ballot(...) KGEN_HIP_WAVE_ERROR(__ballot)
#define __any(...) KGEN_HIP_WAVE_ERROR(__any)
#define __all(...) KGEN_HIP_WAVE_ERROR(__all)
#define __activemask(...) KGEN_HIP_WAVE_ERROR(__activemask)
#define __ballot_sync(...) KGEN_HIP_WAVE_ERROR(__ballot_sync)
#define __any_sync(...) KGEN_HIP_WAVE_ERROR(__any_sync)
#define __all_sync(...) KGEN_HIP_WAVE_ERROR(__all_sync)
#define __match_any(...) KGEN_HIP_WAVE_ERROR(__match_any)
#define __match_all(...) KGEN_HIP_WAVE_ERROR(__match_all)
#define __match_any_sync(...) KGEN_HIP_WAVE_ERROR(__match_any_sync)
#define __match_all_sync(...) KGEN_HIP_WAVE_ERROR(__match_all_sync)
#define __reduce_add_sync(...) KGEN_HIP_WAVE_ERROR(__reduce_add_sync)
#define __reduce_min_sync(...) KGEN_HIP_WAVE_ERROR(__reduce_min_sync)
#define __reduce_max_sync(...) KGEN_HIP_WAVE_ERROR(__reduce_max_sync)
#define __reduce_and_sync(...) KGEN_HIP_WAVE_ERROR(__reduce_and_sync)
#define __reduce_or_sync(...) KGEN_HIP_WAVE_ERROR(__reduce_or_sync)
#define __reduce_xor_sync(...) KGEN_HIP_WAVE_ERROR(__reduce_xor_sync)
#define __syncwarp(...) KGEN_HIP_WAVE_ERROR(__syncwarp)
