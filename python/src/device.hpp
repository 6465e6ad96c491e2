#pragma once

/// \file
/// The device of this machine that is meant, and the compiler for it.

#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include <kernelgen/compile/local_compiler.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/core/target.hpp>
#include <kernelgen/device/gpu.hpp>
#include <kernelgen/exec/process.hpp>

namespace kernelgen_python {

/// The GPU that `device` means, or the first one for the target; nothing for the processor. Without a target it is that
/// of the reference. MissingDevice where a GPU is needed and there is none.
[[nodiscard]] kernelgen::Result<std::optional<kernelgen::GpuFacts>> choose_device(
    const std::string& device, std::optional<kernelgen::Target> target, const kernelgen::Installation& installation,
    kernelgen::ProcessRunner& runner, const std::stop_token& stop);

/// The compiler of evaluations on this machine. Without a cache directory it is the user's.
[[nodiscard]] kernelgen::Result<std::unique_ptr<kernelgen::KernelCompiler>> open_compiler(
    kernelgen::LocalCompilerOptions options, kernelgen::ProcessRunner& runner);

}  // namespace kernelgen_python
