#pragma once

/// \file
/// JSON as Python's programs write it, read with tolerance: claims of others may be of any kind.

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Longest text that is taken over from a claim.
inline constexpr std::size_t k_max_claim_text = 300;

/// Numbers that are accepted, both ends included.
struct NumberLimits {
  double least = 0;
  double most = 0;
};

/// Parses a document in which Python may have written NaN, Infinity and -Infinity; they become texts. InvalidArgument,
/// with line and column, for other malformed text.
[[nodiscard]] Result<boost::json::value> parse_python_json(std::string_view text);

/// "a number", "a string", ...: what a value is.
[[nodiscard]] std::string kind_text(const boost::json::value& value);

/// @{
/// Reads a member. Nothing where it is missing or null; where it is unusable, a line is added to `problems` as well.
/// Texts such as "True" and "2.5" are read as what they say.
[[nodiscard]] std::optional<bool> read_truth(const boost::json::object& members, std::string_view name,
                                             std::vector<std::string>& problems);
[[nodiscard]] std::optional<double> read_number(const boost::json::object& members, std::string_view name,
                                                std::vector<std::string>& problems, NumberLimits limits);
/// A time in milliseconds. KernelBench writes -1 for none.
[[nodiscard]] std::optional<double> read_time(const boost::json::object& members, std::string_view name,
                                              std::vector<std::string>& problems);
/// @}

}  // namespace v0
}  // namespace kernelgen
