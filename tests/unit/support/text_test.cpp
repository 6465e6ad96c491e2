#include "support/text.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/clock.hpp"
#include "support/random_id.hpp"

using namespace kernelgen;

TEST_CASE("UTF-8 is checked as the standard says", "[support][text]") {
  CHECK(is_valid_utf8("plain, h\xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80"));
  CHECK_FALSE(is_valid_utf8("\xC0\xAF"));          // overlong
  CHECK_FALSE(is_valid_utf8("\xED\xA0\x80"));      // surrogate
  CHECK_FALSE(is_valid_utf8("\xF4\x90\x80\x80"));  // above U+10FFFF
  CHECK_FALSE(is_valid_utf8("\xE2\x82"));          // cut
  CHECK_FALSE(is_valid_utf8("\xFF"));
}

TEST_CASE("sanitizing removes what a terminal would obey", "[support][text]") {
  CHECK(sanitize_text("\x1b[31merror\x1b[0m: no", 100) == "error: no");
  CHECK(sanitize_text("a\x1b]0;title\x07z", 100) == "az");
  CHECK(sanitize_text("a\x1b]8;;http://x\x1b\\z", 100) == "az");
  CHECK(sanitize_text(std::string("a\0b\x07\rc\x7f", 7), 100) == "abc");
  CHECK(sanitize_text("tab\tline\n", 100) == "tab\tline\n");
  CHECK(sanitize_text("bad\xFF yte", 100) == "bad\xEF\xBF\xBD yte");
  CHECK(sanitize_text("\xC2\x9B 31m \xE2\x80\xAE x", 100) == " 31m  x");
  CHECK(sanitize_text("\x1b", 10).empty());
  CHECK(sanitize_text("\x1b]never ends\nnext line", 100) == "never ends\nnext line");
}

TEST_CASE("sanitizing cuts between characters and marks the cut", "[support][text]") {
  CHECK(sanitize_text("abcdefgh", 8) == "abcdefgh");
  CHECK(sanitize_text("abcdefghi", 8) == "abcde...");
  CHECK(sanitize_text("\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC", 8) == "\xE2\x82\xAC...");
  CHECK(sanitize_text("abc", 2).empty());
  for (std::size_t cap = 0; cap < 40; ++cap) {
    const auto text = sanitize_text("\xE2\x82\xAC uro \xF0\x9F\x98\x80 \x1b[1m\xFF and more and more and more", cap);
    CHECK(text.size() <= cap);
    CHECK(is_valid_utf8(text));
  }
}

TEST_CASE("a line is one line", "[support][text]") {
  CHECK(sanitize_line("  a\r\n\t b  \n", 100) == "a b");
  CHECK(sanitize_line("", 100).empty());
}

TEST_CASE("split, join and trim", "[support][text]") {
  CHECK(split("a,,b", ',').size() == 3);
  CHECK(split("", ',').size() == 1);
  CHECK(split_lines("a\r\nb").at(0) == "a");
  CHECK(split_lines("a\nb\n").size() == 2);
  CHECK(split_lines("").empty());
  CHECK(trim(" \t x y \n") == "x y");
  CHECK(trim(" \n").empty());
  const std::vector<std::string> parts{"a", "b"};
  CHECK(join(parts, ", ") == "a, b");
}

TEST_CASE("percent encoding round trips every byte", "[support][text]") {
  CHECK(percent_encode("gru.weight_ih_l0[1]-a") == "gru.weight_ih_l0[1]-a");
  CHECK(percent_encode("a b%\n") == "a%20b%25%0A");
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  CHECK(percent_decode(percent_encode(all)) == all);
  CHECK_FALSE(percent_decode("%4"));
  CHECK_FALSE(percent_decode("%zz"));
}

TEST_CASE("edit distance", "[support][text]") {
  CHECK(edit_distance("softmax", "softmx") == 1);
  CHECK(edit_distance("", "abc") == 3);
}

TEST_CASE("names that are close to a wrong one are suggested, the closest first", "[support][text]") {
  const std::vector<std::string> names{"eval", "generate", "detect", "relu", "gelu"};
  CHECK(did_you_mean("evla", names) == "; did you mean eval?");
  CHECK(did_you_mean("evaluate", names) == "; did you mean eval?");
  CHECK(did_you_mean("DETECT", names) == "; did you mean detect?");
  CHECK(did_you_mean("elu", names) == "; did you mean gelu or relu?");
  CHECK(did_you_mean("xy", names).empty());
  CHECK(did_you_mean("something_else", names).empty());
}

TEST_CASE("alternatives are listed as a sentence does", "[support][text]") {
  CHECK(list_alternatives({}).empty());
  CHECK(list_alternatives(std::vector<std::string>{"a"}) == "a");
  CHECK(list_alternatives(std::vector<std::string>{"a", "b", "c"}) == "a, b or c");
}

TEST_CASE("time is written as ISO 8601 in UTC", "[support][clock]") {
  const WallClock clock = [] {
    return std::chrono::system_clock::time_point(std::chrono::milliseconds(951'782'400'007));
  };
  CHECK(utc_now_iso8601(clock) == "2000-02-29T00:00:00.007Z");
}

TEST_CASE("random ids differ", "[support][random]") {
  CHECK(random_id().size() == 32);
  CHECK(random_id() != random_id());
  CHECK(random_u64() != random_u64());
}
