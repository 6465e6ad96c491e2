#pragma once

/// \file
/// Calls of the library about the devices of this machine, with what options and the context say.

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <kernelgen/bench/doctor.hpp>
#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/device/cpu.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/platform/platform.hpp>
#include <kernelgen/profile/profiler.hpp>
#include <kernelgen/prompt/prompt_device.hpp>

#include "commands.hpp"

namespace kernelgen::cli {

/// find_prompt_device() on this machine. The cache directory of `options` is that of the option; the rest of what it
/// needs comes from the context.
[[nodiscard]] Result<PromptDevice> find_prompt_device(PromptDeviceOptions options, Context& context);

/// make_local_compiler() with the cache directory of the option, or else that of the context.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_local_compiler(std::optional<GpuFacts> gpu,
                                                                          const std::string& cache_dir,
                                                                          const Installation& installation,
                                                                          Context& context);

/// make_local_profiler(); `python` is that of the option, and `timeout` its default where it is unset.
[[nodiscard]] Result<std::unique_ptr<Profiler>> make_profiler(const std::string& python,
                                                              std::optional<std::chrono::milliseconds> timeout,
                                                              const Installation& installation, Context& context,
                                                              ProfilerSandbox sandbox = ProfilerSandbox::None);

/// The devices of this machine, and how the GPUs were looked for.
struct Devices {
  CpuFacts cpu;
  GpuInventory gpus;
  GpuProbeOptions probe;
  /// By UUID, as far as drivers tell it in files.
  std::map<std::string, GpuUse> uses{};
};
/// Reads them. GPUs without a bandwidth that was measured before have none.
[[nodiscard]] Result<Devices> read_devices(const std::string& cache_dir, Context& context);

/// examine_machine() with the Python and the cache directory of the options.
[[nodiscard]] Result<std::vector<DoctorFinding>> examine_machine(const std::string& python,
                                                                 const std::string& cache_dir, Context& context);

}  // namespace kernelgen::cli
