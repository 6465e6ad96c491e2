#include <string>

#include <kernelgen/prompt/reply_reader.hpp>

#include "support/catch.hpp"
#include "support/effort.hpp"

using namespace kernelgen;

namespace {

Analysis read(const std::string& text) {
  auto analysis = read_analysis(text);
  INFO((analysis ? "" : analysis.error().message));
  REQUIRE(analysis);
  return *analysis;
}

}  // namespace

TEST_CASE("an analysis is read, fenced or not, with prose around it", "[prompt][analysis]") {
  const std::string object = R"({"worth_optimizing": true, "reason": "launches", "bottleneck": "latency",
    "method": "persistent", "plan": "1. fuse", "expected_speedup": "3x", "output_requirement": "final_state_only"})";
  const Analysis expected{true, "launches", "latency", "persistent", "1. fuse", "3x", "final_state_only"};
  CHECK(read(object) == expected);
  CHECK(read("```json\n" + object + "\n```") == expected);
  CHECK(read("Let me see: {not json}.\n" + object + "\nThat is {all}.") == expected);
  CHECK(read("<think>\n{\"worth_optimizing\": false}\n</think>\n" + object) == expected);
  CHECK(read("{\"analysis\": " + object + "}") == expected);
}

TEST_CASE("no, false and 0 are false", "[prompt][analysis]") {
  for (const std::string no : {"false", "\"no\"", "\"No.\"", "\"FALSE\"", "0", "0.0", "\"no, it is optimal\"", "False"})
    CHECK_FALSE(read("{\"worth_optimizing\": " + no + "}").worth_optimizing);
  for (const std::string yes : {"true", "\"yes\"", "1", "\"True\"", "null", "True", "\"nothing better is known, yes\""})
    CHECK(read("{\"worth_optimizing\": " + yes + "}").worth_optimizing);
}

TEST_CASE("missing members keep their defaults", "[prompt][analysis]") {
  auto analysis = read(R"({"plan": "tile"})");
  CHECK(analysis.worth_optimizing);
  CHECK(analysis.plan == "tile");
  CHECK(analysis.output_requirement.empty());
}

TEST_CASE("what models write instead of JSON is understood", "[prompt][analysis]") {
  const auto analysis = read(
      "{\"Worth Optimizing\": True, // yes\n \"plan\": [\"first\", \"second\"], \"reason\": \"two\nlines\",\n"
      "\"expected-speedup\": 2.5, \"output_requirement\": \"full sequence\", \"method\": None,}");
  CHECK(analysis.worth_optimizing);
  CHECK(analysis.plan == "first\nsecond");
  CHECK(analysis.reason == "two\nlines");
  CHECK(analysis.expected_speedup.substr(0, 1) == "2");
  CHECK(analysis.output_requirement == "full_sequence");
  CHECK(analysis.method.empty());
}

TEST_CASE("of two analyses the last counts: the first may be the schema", "[prompt][analysis]") {
  CHECK(read("{\"reason\": \"...\"} becomes {\"reason\": \"the } brace\"} and {\"other\": 1}").reason == "the } brace");
}

TEST_CASE("an unknown output requirement is other", "[prompt][analysis]") {
  CHECK(read(R"({"output_requirement": "both"})").output_requirement == "other");
}

TEST_CASE("a text without an analysis says what it holds instead", "[prompt][analysis]") {
  CHECK(read_analysis("").error().message == "the analysis is empty");
  CHECK(read_analysis("Yes, it is worth it.").error().message ==
        "the analysis holds no JSON object with its members; it begins: Yes, it is worth it.");
  for (const std::string text : {"{\"worth_optimizing\": tr", "{}", "[1]", "{\"error\": {\"code\": 429}}"})
    CHECK(read_analysis(text).error().code == ErrorCode::InvalidArgument);
  CHECK(read_analysis(std::string((256u << 10) + 1, '{')).error().message == "the analysis is longer than 256 KiB");
}

TEST_CASE("long members are cut and control characters removed", "[prompt][analysis]") {
  CHECK(read("{\"plan\": \"" + std::string(100'000, 'x') + "\"}").plan.size() <= 8000);
  CHECK(read("{\"plan\": \"a\\u001b[31mb\"}").plan.find('\x1b') == std::string::npos);
}

TEST_CASE("hostile analyses end", "[prompt][analysis]") {
  for (const std::string piece : {"{", "{\"", "{\"a\":", "{}", "\\", "{\"plan\": \""}) {
    std::string text;
    while (text.size() < (256u << 10) / testing::k_less - 16) text += piece;
    const auto analysis = read_analysis(text);
    CHECK((analysis || !analysis.error().message.empty()));
  }
}

TEST_CASE("a critique is read as JSON, or else as it is", "[prompt][critique]") {
  const auto read_it = [](const std::string& text) { return read_critique(text).value(); };
  CHECK(read_it("Here:\n```json\n{\"Problem\": \"a\", \"evidence\": [\"b\", \"c\"], \"change\": \"d\\ne\"}\n```") ==
        Critique{"a", "b\nc", "d\ne"});
  CHECK(read_it("{\"critique\": {\"change\": \"fuse\"}}") == Critique{"", "", "fuse"});
  CHECK(read_it("<think>\nhm\n</think>\nThe barrier is missing.\n") == Critique{"", "", "The barrier is missing."});
  CHECK(read_it(std::string(20000, 'x')).change.size() <= 8000);
}

TEST_CASE("a critique that is empty or enormous is refused", "[prompt][critique]") {
  CHECK(read_critique(" \n<think>only thoughts</think>").error().message == "the critique is empty");
  CHECK(read_critique(std::string(300u << 10, 'x')).error().message == "the critique is longer than 256 KiB");
}
