#include "llm/continuation.hpp"

#include <string>

#include "support/catch.hpp"

using namespace kernelgen;

TEST_CASE("two pieces of a reply are put together", "[llm][continuation]") {
  CHECK(join_pieces("int x", " = 3;") == "int x = 3;");
  CHECK(join_pieces("", "all") == "all");
  CHECK(join_pieces("all", "") == "all");
}

TEST_CASE("the words that a model repeats stand there once", "[llm][continuation]") {
  const std::string end = "for (int i = 0; i < n; ++i)";
  CHECK(join_pieces("void f() {\n" + end, end + " x[i] = 0;\n}") == "void f() {\n" + end + " x[i] = 0;\n}");
  // Few equal bytes may belong there twice.
  CHECK(join_pieces("a + b", "b + c") == "a + bb + c");
}

TEST_CASE("a code block that a model opens again is one block", "[llm][continuation]") {
  CHECK(join_pieces("```cpp\nint x;\nint ", "```cpp\ny;\n```\n") == "```cpp\nint x;\nint y;\n```\n");
  // The end of the block, and a block behind a closed one, are kept.
  CHECK(join_pieces("```cpp\nint x;\n", "```\nDone.") == "```cpp\nint x;\n```\nDone.");
  CHECK(join_pieces("```cpp\nint x;\n```\n", "```cpp\ny;\n```") == "```cpp\nint x;\n```\n```cpp\ny;\n```");
}

TEST_CASE("tokens and times of the pieces add up, and the last one tells the end", "[llm][continuation]") {
  Reply reply{
      .text = "a", .finish = FinishReason::Length, .usage = {10, 5, {}, 2, {}}, .latency = std::chrono::seconds(1)};
  reply.request_id = "r1";
  Reply next{
      .text = "b", .finish = FinishReason::Stop, .usage = {20, 6, 8, {}, {}}, .latency = std::chrono::seconds(2)};
  next.request_id = "r2";
  append_reply(reply, next);
  CHECK(reply.text == "ab");
  CHECK(reply.finish == FinishReason::Stop);
  CHECK(reply.usage == TokenUsage{30, 11, 8, 2, {}});
  CHECK(reply.latency == std::chrono::seconds(3));
  CHECK(reply.request_id == "r1 r2");
}
