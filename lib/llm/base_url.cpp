#include "llm/base_url.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace kernelgen {
inline namespace v0 {

namespace {

bool is_port(std::string_view text) {
  constexpr int k_most = 65'535;
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0 && port <= k_most;
}

}  // namespace

Result<BaseUrl> parse_base_url(std::string_view text) {
  const auto refuse = [](std::string why) {
    return Error{
        ErrorCode::InvalidArgument,
        "a base URL has the form http(s)://HOST[:PORT][/PATH], such as http://localhost:8000/v1; " + std::move(why),
        {}};
  };
  if (std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c > '~'; }))
    return refuse("this one has blanks or characters that are not ASCII");
  const auto scheme = text.find("://");
  if (scheme == std::string_view::npos || (text.substr(0, scheme) != "https" && text.substr(0, scheme) != "http"))
    return refuse("this one begins with neither http:// nor https://");
  if (text.find_first_of("@?#\\") != std::string_view::npos)
    return refuse("a user, a password, a query or a fragment is not taken");
  while (text.back() == '/' && text.size() > scheme + 3) text.remove_suffix(1);
  const auto rest = text.substr(scheme + 3);
  const auto host = rest.substr(0, rest.find('/'));
  if (host.empty() || host.front() == ':') return refuse("this one names no host");
  // The colons of an IPv6 address are in brackets.
  const auto colon = host.find(':', host.find(']') == host.npos ? 0 : host.find(']'));
  if (colon != host.npos && !is_port(host.substr(colon + 1)))
    return refuse("the port of this one is no number up to 65535");
  return BaseUrl{std::string(text), std::string(host)};
}

}  // namespace v0
}  // namespace kernelgen
