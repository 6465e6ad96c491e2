#include "support/regex.hpp"

#include <boost/regex.hpp>
#include <stdexcept>

namespace kernelgen {
inline namespace v0 {

std::optional<std::size_t> match_length(const boost::regex& pattern, std::string_view text) {
  try {
    boost::cmatch match;
    if (!boost::regex_search(text.data(), text.data() + text.size(), match, pattern)) return std::nullopt;
    return static_cast<std::size_t>(match.length(0));
  } catch (const std::runtime_error&) {
    return std::nullopt;  // error_complexity or error_stack
  }
}

}  // namespace v0
}  // namespace kernelgen
