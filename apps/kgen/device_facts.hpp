#pragma once

#include <vector>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

namespace kernelgen::cli {

/// What a prompt says about this machine: model, cores, vector instructions, caches, memory. Facts that the kernel does
/// not tell are left out.
[[nodiscard]] std::vector<DeviceFact> device_facts(const CpuFacts& facts);

/// The same of a GPU: architecture, multiprocessors, threads, registers, shared memory, caches, memory, peaks.
[[nodiscard]] std::vector<DeviceFact> device_facts(const GpuFacts& facts);

}  // namespace kernelgen::cli
