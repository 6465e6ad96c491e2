#pragma once

#include <map>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// The path of hipcc: `named` when not empty, else ROCM_PATH/bin, HIP_PATH/bin, the PATH, /opt/rocm/bin. MissingTool
/// says what to do.
[[nodiscard]] Result<std::string> find_hipcc(const std::string& named,
                                             const std::map<std::string, std::string>& environment);

/// Whether `architecture` is a name that hipcc compiles for: "gfx90a". Whether the compiler at hand knows it, shows
/// when it compiles.
[[nodiscard]] bool is_gfx_name(std::string_view architecture);

}  // namespace v0
}  // namespace kernelgen
