#pragma once

#include <string>
#include <vector>

#include <kernelgen/core/profile.hpp>
#include <kernelgen/profile/findings.hpp>

#include "render.hpp"

namespace kernelgen::cli {

/// A profile for a person: the kernels, counters of the slowest ones, and the most important findings. Pure. Ends with
/// a line end.
[[nodiscard]] std::string render_profile(const Profile& profile, const std::vector<ProfileFinding>& findings,
                                         const RenderOptions& options);

/// The profile as to_json writes it, and all findings: {..., "findings": [{"name", "message", "weight"}]}.
[[nodiscard]] std::string profile_to_json(const Profile& profile, const std::vector<ProfileFinding>& findings);

}  // namespace kernelgen::cli
