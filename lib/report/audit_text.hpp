#pragma once

/// \file
/// The cells of a finding, for the table and the page.

#include <string>
#include <vector>

#include <kernelgen/flow/audit.hpp>

namespace kernelgen {
inline namespace v0 {

/// "2.10x", "correct", "not correct", "-".
[[nodiscard]] std::string claimed_text(const Claim& claim);
/// "1.02x [1.01, 1.03]", "correct", the class of a failure, "-".
[[nodiscard]] std::string measured_text(const AuditFinding& finding);
/// The reason for the verdict, and what else was compared: "1.30x over compile"; empty for nothing of both.
[[nodiscard]] std::string explained_text(const AuditFinding& finding);
/// "12 kernels: 9 stand, 2 overstated, 1 wrong".
[[nodiscard]] std::string counts_text(const AuditReport& report);
/// What holds for the whole report, one sentence each: devices, repetitions, the margin.
[[nodiscard]] std::vector<std::string> remarks_of(const AuditReport& report);

}  // namespace v0
}  // namespace kernelgen
