#pragma once

/// \file
/// The compiler that a torch extension with kernels needs on the machine that judges.

#include <map>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>
#include <kernelgen/platform/platform.hpp>

namespace kernelgen {
inline namespace v0 {

/// Whether a Python source compiles kernels for a device with torch.utils.cpp_extension. An extension for the processor
/// needs no compiler of a GPU's maker. Pure.
[[nodiscard]] bool has_device_extension(std::string_view source);

/// Looks for the compiler where torch's builders do: in the toolkit that `environment` names, on its PATH, beside the
/// Python that judges, at the usual place. MissingTool says what to install; platforms without a compiler need none.
[[nodiscard]] Result<void> find_extension_compiler(const Platform& platform, const std::string& python,
                                                   const std::map<std::string, std::string>& environment);

}  // namespace v0
}  // namespace kernelgen
