#pragma once

#include <cstdint>
#include <vector>

#include <kernelgen/core/candidate.hpp>

namespace kernelgen {
inline namespace v0 {

/// The code of a kernel as the set of its runs of three tokens: their hashes, sorted, each once. Comments and blanks do
/// not count.
using CodeSketch = std::vector<std::uint64_t>;

/// Takes time in proportion to the source.
[[nodiscard]] CodeSketch sketch_of(const Candidate& candidate);

/// The share of their runs that two kernels do not have in common: 0 for the same code, 1 for codes without a common
/// run.
[[nodiscard]] double distance_of(const CodeSketch& a, const CodeSketch& b);

}  // namespace v0
}  // namespace kernelgen
