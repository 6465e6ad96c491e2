#pragma once

/// \file
/// JSON documents as text. Private: Boost.JSON stays out of the public headers.

#include <boost/json/value.hpp>
#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Parses one JSON document. InvalidArgument, with the position, for malformed text.
[[nodiscard]] Result<boost::json::value> parse_json(std::string_view text);

/// Formats a document for people: indented, with lists of plain numbers and texts on one line; ends with a line end.
[[nodiscard]] std::string to_pretty_json(const boost::json::value& value);

}  // namespace v0
}  // namespace kernelgen
