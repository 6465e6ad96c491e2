#include "llm/base_url.hpp"

#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("a base URL is taken apart", "[llm][base_url]") {
  CHECK(parse_base_url("https://api.openai.com/v1").value().host == "api.openai.com");
  CHECK(parse_base_url("http://localhost:8000/v1//").value().url == "http://localhost:8000/v1");
  CHECK(parse_base_url("http://[::1]:8000").value().host == "[::1]:8000");
}

TEST_CASE("a base URL that is none, or that may hold a secret, is refused and not repeated", "[llm][base_url]") {
  for (const char* text : {"", "localhost:8000", "ftp://host/v1", "file:///etc/passwd", "https://", "https:///v1",
                           "http://:80", "http://host:99999/v1", "http://host:abc", "http://host:/v1", "http://[::1]:x",
                           "https://user:hidden@host/v1", "https://host/v1?api_key=hidden", "https://host/#hidden",
                           "https://ho st", "https://host/\nX: hidden", "://host", "HTTPS//host"}) {
    INFO(text);
    const auto parsed = parse_base_url(text);
    REQUIRE_FALSE(parsed);
    CHECK(parsed.error().code == ErrorCode::InvalidArgument);
    CHECK(parsed.error().message.find("hidden") == std::string::npos);
  }
}
