#pragma once

#include <kernelgen/core/record.hpp>

namespace kernelgen::testing {

/// A record in which every member is filled, with awkward values among them (inf, newlines, quotes).
[[nodiscard]] EvaluationRecord full_record();

}  // namespace kernelgen::testing
