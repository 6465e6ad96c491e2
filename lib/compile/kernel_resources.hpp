#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/candidate.hpp>

namespace kernelgen {
inline namespace v0 {

/// What `ptxas -v` says about each kernel, in the order of its log. Functions that are no kernels count into theirs.
/// Input is hostile: capped in number.
[[nodiscard]] std::vector<KernelResources> parse_ptxas_resources(std::string_view log);

/// "k(float*)" of "_Z1kPf"; the name itself where it is not mangled. Capped.
[[nodiscard]] std::string demangle(const std::string& name);

}  // namespace v0
}  // namespace kernelgen
