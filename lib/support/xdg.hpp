#pragma once

#include <map>
#include <string>

namespace kernelgen {
inline namespace v0 {

/// The directory that `variable` ("XDG_CACHE_HOME") names, else `below_home` ("/.cache") in HOME; empty without both.
/// Relative paths are ignored, as the XDG specification demands.
[[nodiscard]] std::string xdg_directory(const std::map<std::string, std::string>& environment,
                                        const std::string& variable, const std::string& below_home);

}  // namespace v0
}  // namespace kernelgen
