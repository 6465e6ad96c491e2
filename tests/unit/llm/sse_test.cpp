#include "llm/sse.hpp"

#include <algorithm>
#include <vector>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

/// The events of a stream that arrives in pieces of this size.
std::vector<SseEvent> events_of(std::string_view stream, std::size_t piece = 1'000) {
  std::vector<SseEvent> events;
  SseParser parser;
  for (std::size_t at = 0; at < stream.size(); at += piece)
    parser.feed(stream.substr(at, piece), [&](const SseEvent& event) { events.push_back(event); });
  return events;
}

using Events = std::vector<SseEvent>;

}  // namespace

TEST_CASE("events are the same whatever pieces they arrive in", "[llm][sse]") {
  const std::string_view stream =
      "\xEF\xBB\xBF: comment\r\nevent: start\r\ndata: one\r\n\r\ndata:two\ndata:  three\n\nid: 7\nretry: 9\ndata\n\n"
      "event: none\n\ndata: \xE2\x82\xAC\r\rdata: not ended\n";
  const Events expected{{"start", "one"}, {"", "two\n three"}, {"", ""}, {"", "\xE2\x82\xAC"}};
  for (std::size_t piece = 1; piece < 20; ++piece) {
    INFO(piece);
    CHECK(events_of(stream, piece) == expected);
  }
}

TEST_CASE("an event that has not ended is none, and is known to be missing", "[llm][sse]") {
  SseParser parser;
  int count = 0;
  const auto take = [&](const SseEvent&) { ++count; };
  CHECK_FALSE(parser.is_within_event());
  parser.feed("data: x", take);
  CHECK(parser.is_within_event());
  parser.feed("\n", take);
  CHECK(parser.is_within_event());
  parser.feed("\n", take);
  CHECK_FALSE(parser.is_within_event());
  CHECK(count == 1);
}

TEST_CASE("the name of an event does not last longer than the event", "[llm][sse]") {
  CHECK(events_of("event: a\ndata: 1\n\ndata: 2\n\n") == Events{{"a", "1"}, {"", "2"}});
  CHECK(events_of("event: a\n\ndata: 2\n\n") == Events{{"", "2"}});
}
