#pragma once

/// \file
/// Reads the CSV tables of profilers.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// Limit of a kernel's name; longer ones are cut.
constexpr std::size_t k_max_name = 2000;

/// Splits a line into fields: quoted with ", a quote inside doubled.
[[nodiscard]] std::vector<std::string> split_csv_line(std::string_view line);

/// Reads a finite number with or without separators between thousands; nothing for "n/a", texts and lists of instances.
[[nodiscard]] std::optional<double> read_csv_number(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
