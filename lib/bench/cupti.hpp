#pragma once

/// \file
/// Finds the library of CUDA's tools interface, which reports what a device does.

#include <filesystem>
#include <map>
#include <string>

namespace kernelgen {
inline namespace v0 {

/// The libcupti.so that came with torch or triton for this Python; empty where there is none. The toolkit's own lies
/// where runners look anyway.
[[nodiscard]] std::filesystem::path find_cupti(const std::string& python,
                                               const std::map<std::string, std::string>& environment);

}  // namespace v0
}  // namespace kernelgen
