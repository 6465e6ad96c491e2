#pragma once

/// \file
/// What a profile says about a chain of dependent steps within a kernel, and about what warps wait for.

#include <optional>
#include <vector>

#include <kernelgen/profile/findings.hpp>

namespace kernelgen {
inline namespace v0 {

/// The kernels of a profile that go through the steps of a chain: the candidate's longest one, and others that take at
/// least half as long for a launch, such as one for each direction. Those that are launched for every step are none.
[[nodiscard]] std::vector<const KernelProfile*> chain_kernels(const Profile& profile, const StepChain& chain);

/// Time and cycles of a step against the floor, and what makes a chain faster. Requires that
/// `kernels`, those of chain_kernels(), are not empty.
[[nodiscard]] ProfileFinding chain_finding(const Profile& profile, const std::vector<const KernelProfile*>& kernels,
                                           const StepChain& chain, const std::optional<GpuFacts>& gpu);

/// What the warps of the three longest kernels wait for, in one finding: "stalls". Nothing where no reason is known
/// that holds up 20 % of the warps.
[[nodiscard]] std::optional<ProfileFinding> stall_finding(const Profile& profile, const std::optional<GpuFacts>& gpu);

}  // namespace v0
}  // namespace kernelgen
