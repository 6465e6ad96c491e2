#pragma once

/// \file
/// The report of one action, from its result.

#include <kernelgen/core/action.hpp>
#include <kernelgen/report/report.hpp>

namespace kernelgen {
inline namespace v0 {

[[nodiscard]] AttemptReport report_attempt(const ActionResult& result);

/// True for an attempt that says something about the model's code: it was judged, or the reply held no code.
[[nodiscard]] bool is_sample(const AttemptReport& attempt);

}  // namespace v0
}  // namespace kernelgen
