#include "support/frames.hpp"

#include "support/catch.hpp"

using namespace kernelgen;
using namespace std::string_literals;

namespace {

/// Decodes `bytes` in two pieces cut at `split`, and returns all bodies.
std::vector<std::string> decode_split(const std::string& bytes, std::size_t split) {
  std::vector<std::string> bodies;
  FrameDecoder decoder;
  for (const auto& piece : {bytes.substr(0, split), bytes.substr(split)}) {
    decoder.feed(piece);
    while (true) {
      const auto body = decoder.next();
      REQUIRE(body);
      if (!*body) break;
      bodies.push_back(**body);
    }
  }
  CHECK_FALSE(decoder.has_partial_frame());
  return bodies;
}

}  // namespace

TEST_CASE("a frame is magic, little-endian length and body", "[support][frames]") {
  CHECK(encode_frame("{}") == "KGF1\x02\0\0\0{}"s);
  CHECK(encode_frame(std::string(258, 'x')).substr(4, 4) == "\x02\x01\0\0"s);
}

TEST_CASE("frames come out whole wherever the bytes were split", "[support][frames]") {
  const std::vector<std::string> bodies{"{\"a\":1}", "", "KGF1", std::string("\0\n", 2)};
  std::string bytes;
  for (const auto& body : bodies) bytes += encode_frame(body);
  for (std::size_t split = 0; split <= bytes.size(); ++split) CHECK(decode_split(bytes, split) == bodies);
}

TEST_CASE("a torn frame is seen at the end of the stream", "[support][frames]") {
  FrameDecoder decoder;
  CHECK_FALSE(decoder.has_partial_frame());
  decoder.feed(encode_frame("body").substr(0, 10));
  REQUIRE(decoder.next());
  CHECK(decoder.has_partial_frame());
}

TEST_CASE("a stream that is not ours is refused at its first wrong byte", "[support][frames]") {
  FrameDecoder decoder;
  decoder.feed("KGx");
  auto body = decoder.next();
  REQUIRE_FALSE(body);
  CHECK(body.error().code == ErrorCode::Protocol);
  decoder.feed(encode_frame("good"));
  CHECK_FALSE(decoder.next());
}

TEST_CASE("a frame over the limit is refused before its body arrives", "[support][frames]") {
  FrameDecoder decoder;
  decoder.feed("KGF1\x01\0\0\x04"s);
  const auto body = decoder.next();
  REQUIRE_FALSE(body);
  CHECK(body.error().message.find("larger than the limit") != std::string::npos);
}
