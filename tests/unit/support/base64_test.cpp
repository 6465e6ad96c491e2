#include "support/base64.hpp"

#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("base64 is that of RFC 4648", "[support][base64]") {
  CHECK(to_base64("") == "");
  CHECK(to_base64("f") == "Zg==");
  CHECK(to_base64("fo") == "Zm8=");
  CHECK(to_base64("foo") == "Zm9v");
  CHECK(to_base64("foobar") == "Zm9vYmFy");
}

TEST_CASE("bytes of any length come back as they were", "[support][base64]") {
  // The conversion works in pieces of 3 MiB.
  constexpr std::size_t k_piece = 3u << 20;
  for (const std::size_t size : {std::size_t(0), std::size_t(1), std::size_t(2), std::size_t(256), k_piece - 1, k_piece,
                                 k_piece + 1, 2 * k_piece + 2}) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
    const auto back = from_base64(to_base64(bytes));
    REQUIRE(back);
    CHECK((*back == bytes));
  }
}

TEST_CASE("what is no base64 is refused", "[support][base64]") {
  for (const char* text : {"Z", "Zg=", "Zm9v Zg", "Zg==Zg==", "====", "Zm9!", "Zm9v\n", "    ", "Zm-v"}) {
    INFO(text);
    CHECK_FALSE(from_base64(text));
  }
}
