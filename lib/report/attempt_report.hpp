#pragma once

/// \file
/// The report of one action, from its result.

#include <kernelgen/core/action.hpp>
#include <kernelgen/report/report.hpp>

namespace kernelgen {
inline namespace v0 {

[[nodiscard]] AttemptReport report_attempt(const ActionResult& result);

}  // namespace v0
}  // namespace kernelgen
