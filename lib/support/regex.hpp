#pragma once

/// \file
/// Regular expressions for untrusted text.

#include <boost/regex_fwd.hpp>
#include <cstddef>
#include <optional>
#include <string_view>

namespace kernelgen {
inline namespace v0 {

/// Length of the first match of a pattern; nothing without a match. A search that takes more steps than Boost.Regex
/// allows finds nothing, instead of throwing.
[[nodiscard]] std::optional<std::size_t> match_length(const boost::regex& pattern, std::string_view text);

}  // namespace v0
}  // namespace kernelgen
