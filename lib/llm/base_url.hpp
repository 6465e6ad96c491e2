#pragma once

#include <string>
#include <string_view>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// A base URL and its host.
struct BaseUrl {
  /// "https://host:port/v1", without a slash at its end.
  std::string url;
  /// "host:port", for messages.
  std::string host;
};
/// InvalidArgument unless it is http(s)://host[:port][/path]. A user, a query or a fragment is refused: they may hold a
/// secret, and the URL is shown. The message does not repeat the text.
[[nodiscard]] Result<BaseUrl> parse_base_url(std::string_view text);

}  // namespace v0
}  // namespace kernelgen
