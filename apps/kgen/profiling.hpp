#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <kernelgen/compile/kernel_compiler.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/profile/profiler.hpp>

#include "commands.hpp"

namespace kernelgen::cli {

/// Builds kernels for profiles, from the content store when they were built before. Without a GPU, for the processor.
[[nodiscard]] Result<std::unique_ptr<KernelCompiler>> make_profile_compiler(const std::optional<GpuFacts>& gpu,
                                                                            const std::string& cache_dir,
                                                                            const Installation& installation,
                                                                            Context& context);

/// Nsight Compute and torch's timeline, for modules and for what a compiler made.
[[nodiscard]] Result<std::unique_ptr<Profiler>> make_profiler(std::chrono::milliseconds timeout,
                                                              const std::string& python,
                                                              const Installation& installation, Context& context);

/// A profiler that builds native candidates itself.
[[nodiscard]] Result<std::unique_ptr<Profiler>> make_candidate_profiler(const GpuFacts& gpu,
                                                                        const std::string& cache_dir,
                                                                        const std::string& python,
                                                                        const Installation& installation,
                                                                        Context& context);

}  // namespace kernelgen::cli
