#pragma once

/// \file
/// ROCm's compilers, hipcc and amdclang++: where they are, what they are, and what their messages mean.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <kernelgen/core/result.hpp>
#include <kernelgen/platform/platform.hpp>

namespace kernelgen {
inline namespace v0 {

/// The path of hipcc, or where there is none of amdclang++: `named` when not empty, else in ROCM_PATH/bin,
/// HIP_PATH/bin, the PATH, /opt/rocm/bin; amdclang++ also in the folders of LLVM there. MissingTool says what to do.
[[nodiscard]] Result<std::string> find_hipcc(const std::string& named,
                                             const std::map<std::string, std::string>& environment);

/// Whether it is amdclang++, which adds HIP's runtime only when it is told to.
[[nodiscard]] bool is_amdclang(std::string_view compiler);

/// Whether `architecture` is a name that hipcc compiles for: "gfx90a". Whether the compiler at hand knows it, shows
/// when it compiles.
[[nodiscard]] bool is_gfx_name(std::string_view architecture);

/// The version of ROCm in what `hipcc --version` or `amdclang++ --version` prints: {6, 3}; zeros where there is none.
[[nodiscard]] std::pair<int, int> parse_rocm_release(std::string_view version);

/// The oldest ROCm that supports an architecture, as far as AMD's release notes say it.
[[nodiscard]] std::optional<std::pair<int, int>> oldest_rocm_for(std::string_view architecture);

/// A command that ends at once, with a message where the compiler does not know the architecture or has no device
/// library for it.
[[nodiscard]] std::vector<std::string> hipcc_check(const std::string& compiler, const std::string& architecture);

/// The problem of the installation that a compiler's messages name; nothing if they name none. Only messages without a
/// place in a source count, because a candidate can cause messages only with a place.
[[nodiscard]] std::optional<PlatformProblem> explain_hipcc(std::string_view log, std::string_view architecture);

}  // namespace v0
}  // namespace kernelgen
