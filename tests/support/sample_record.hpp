#pragma once

#include <kernelgen/core/record.hpp>

namespace kernelgen::testing {

/// A record with every member set, some of them to awkward values (inf, newlines, quotes).
[[nodiscard]] EvaluationRecord full_record();

}  // namespace kernelgen::testing
