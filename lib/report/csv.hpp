#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// Formats one line of comma-separated values (RFC 4180, but with a bare line feed at its end): cells that need it are
/// quoted. Control characters of untrusted text are removed; a row is one line.
[[nodiscard]] std::string csv_row(const std::vector<std::string>& cells);

}  // namespace v0
}  // namespace kernelgen
