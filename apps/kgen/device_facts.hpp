#pragma once

#include <vector>

#include <kernelgen/device/cpu.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

namespace kernelgen::cli {

/// What a prompt says about this machine: model, cores, vector instructions, caches, memory. Facts that the kernel does
/// not tell are left out.
[[nodiscard]] std::vector<DeviceFact> device_facts(const CpuFacts& facts);

}  // namespace kernelgen::cli
