#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A quantile of sorted numbers: interpolates between the two nearest, like numpy's default. Requires: not empty.
[[nodiscard]] inline double sorted_quantile(const std::vector<double>& sorted, double fraction) {
  const double place = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

}  // namespace v0
}  // namespace kernelgen
