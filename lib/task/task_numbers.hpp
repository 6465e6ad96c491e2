#pragma once

/// \file
/// Tasks by number: KernelBench's files begin with one, as in "40_GRUHidden".

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Numbers from `first` to `last`, both included.
struct NumberRange {
  int first = 0;
  int last = 0;
  bool operator==(const NumberRange&) const = default;
  [[nodiscard]] bool holds(int number) const { return first <= number && number <= last; }
};

/// The number that a file's name begins with; nothing for "relu", "2d_conv" and numbers of ten and more digits.
[[nodiscard]] std::optional<int> leading_number(std::string_view file_name);

/// Whether a text is meant as numbers: it has digits, and otherwise only ',', '-' and blanks.
[[nodiscard]] bool looks_like_numbers(std::string_view text);

/// Reads "33-42" or "1,5,9-12". InvalidArgument says what is wrong with which part.
[[nodiscard]] Result<std::vector<NumberRange>> parse_numbers(std::string_view text);

/// Says that no task has a number of a range, and which of the existing numbers are nearest: "has no task 99; the
/// nearest are 48, 49, 50".
[[nodiscard]] std::string describe_missing(const NumberRange& range, const std::vector<int>& existing);

}  // namespace v0
}  // namespace kernelgen
