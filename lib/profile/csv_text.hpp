#pragma once

/// \file
/// Tables of profilers: lines of fields with commas between them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// Of a kernel; longer ones are cut.
constexpr std::size_t k_max_name = 2000;

/// The fields of a line: quoted with ", a quote inside doubled.
[[nodiscard]] std::vector<std::string> split_csv_line(std::string_view line);

/// A finite number with or without separators between thousands; nothing for "n/a", texts and lists of instances.
[[nodiscard]] std::optional<double> read_csv_number(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
