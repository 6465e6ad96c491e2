#pragma once

#include <string>
#include <string_view>

#include <kernelgen/core/candidate.hpp>

namespace kernelgen {
inline namespace v0 {

/// The source without comments and without blanks that mean nothing: equal for two sources only if they are the same
/// code. It may differ for the same code; pragmas, line ends of directives and Python's indentation stay. Takes linear
/// time, and accepts any bytes. A language that is not kernelgen's own stays as it is.
[[nodiscard]] std::string code_essence(std::string_view source, Language language);

/// True if two candidates for one target differ in comments and blanks at most.
[[nodiscard]] bool is_same_code(const Candidate& a, const Candidate& b);

}  // namespace v0
}  // namespace kernelgen
