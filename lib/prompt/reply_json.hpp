#pragma once

/// \file
/// JSON in replies: with comments, Python's literals, line ends inside strings, and prose around it.

#include <boost/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// Maps "Worth-Optimizing" and "worth optimizing" to worth_optimizing.
[[nodiscard]] std::string normalized_name(std::string_view name);

/// The last object in a text with one of these members, or the object that it wraps: {"analysis": {...}}. The first
/// object may be the schema, repeated.
[[nodiscard]] std::optional<boost::json::object> last_object_with(std::string_view text,
                                                                  std::span<const std::string_view> members);

/// Any value as one text of bounded length: "3x", 3, ["first", "second"].
[[nodiscard]] std::string json_text(const boost::json::value& value);

}  // namespace v0
}  // namespace kernelgen
