#include "support/deflate.hpp"

#include <zlib.h>

#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("what was compressed is read back by zlib", "[support][deflate]") {
  const std::string text =
      GENERATE(std::string(), std::string("x"), std::string(1'000'000, 'y'), std::string("\0\xff", 2));
  const auto compressed = deflate_bytes(text);
  REQUIRE(compressed);
  std::string back(text.size() + 1, '?');
  uLongf size = back.size();
  REQUIRE(uncompress(reinterpret_cast<Bytef*>(back.data()), &size, reinterpret_cast<const Bytef*>(compressed->data()),
                     compressed->size()) == Z_OK);
  CHECK(back.substr(0, size) == text);
  if (text.size() > 1000) CHECK(compressed->size() < text.size() / 100);
}
