#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/candidate.hpp>

namespace kernelgen {
inline namespace v0 {

/// The resources of each kernel as `ptxas -v` reports them, in the order of its log. Device functions count for the
/// kernels that call them. Input is hostile: capped in number.
[[nodiscard]] std::vector<KernelResources> parse_ptxas_resources(std::string_view log);

/// The same as the remarks of amdgpu's compiler (-Rpass-analysis=kernel-resource-usage) say; registers are vector ones.
[[nodiscard]] std::vector<KernelResources> parse_amdgpu_resources(std::string_view log);

/// The resources of each kernel of a code object, from an assembly listing with AMDGPU's metadata (version 3 and later)
/// between `.amdgpu_metadata` and its end. One "; Occupancy: N" is the occupancy of an only kernel. Input is hostile:
/// capped in number, and numbers are capped.
[[nodiscard]] std::vector<KernelResources> parse_amdgpu_metadata(std::string_view listing);

/// "k(float*)" of "_Z1kPf"; the name itself where it is not mangled. Capped.
[[nodiscard]] std::string demangle(const std::string& name);

}  // namespace v0
}  // namespace kernelgen
