#pragma once

/// \file
/// GpuFacts as JSON: what kgen-gpu prints, and the data file.

#include <boost/describe.hpp>

#include <kernelgen/device/gpu.hpp>
#include <kernelgen/platform/platform.hpp>

#include "core/json_codec.hpp"

namespace kernelgen {
inline namespace v0 {

BOOST_DESCRIBE_STRUCT(GpuFacts, (),
                      (index, vendor, name, uuid, architecture, driver_version, model, multiprocessors, warp_threads,
                       threads_per_block, threads_per_multiprocessor, registers_per_block, registers_per_multiprocessor,
                       clock_khz, memory_clock_khz, memory_bus_bits, shared_bytes_per_block,
                       shared_bytes_per_block_optin, shared_bytes_per_multiprocessor, l2_bytes, memory_cache_bytes,
                       memory_bytes, cooperative_launch, integrated, memory_bytes_per_second, measured_bytes_per_second,
                       fp32_per_second, tf32_per_second, fp16_per_second, cluster_blocks, cluster_blocks_optin,
                       cluster_barrier_ns, grid_barrier_ns))
BOOST_DESCRIBE_STRUCT(GpuUse, (), (busy_percent, memory_used_bytes, memory_total_bytes, multiprocessor_mhz, memory_mhz))
BOOST_DESCRIBE_STRUCT(GpuModel, (), (facts, aliases, source))

}  // namespace v0
}  // namespace kernelgen
