#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "llm/answer_reader.hpp"
#include "llm/protocol.hpp"
#include "support/catch.hpp"

namespace kernelgen::testing {

inline HttpResponse response_of(long status, std::string content_type = "application/json") {
  HttpResponse response;
  response.status = status;
  response.headers["content-type"] = std::move(content_type);
  return response;
}

/// Reads an answer that arrives in these pieces.
inline Answer read_pieces(const Protocol& protocol, const HttpResponse& response,
                          std::initializer_list<std::string_view> pieces, const std::string& secret = {},
                          int choices = 1) {
  AnswerReader reader(protocol, secret, choices);
  for (const auto piece : pieces) reader.take(response, piece);
  return reader.finish(response);
}

/// The reply in a whole answer of status 200.
inline Reply reply_in(const Protocol& protocol, std::string_view body) {
  auto answer = read_pieces(protocol, response_of(200), {body});
  INFO(answer.failure.error.message);
  REQUIRE(answer.reply);
  return *answer.reply;
}

/// The reply in a stream.
inline Reply streamed_reply(const Protocol& protocol, std::initializer_list<std::string_view> pieces) {
  auto answer = read_pieces(protocol, response_of(200, "text/event-stream"), pieces);
  INFO(answer.failure.error.message);
  REQUIRE(answer.reply);
  return *answer.reply;
}

/// The failure in an answer; checks that there is no reply.
inline HttpFailure failure_in(const Answer& answer) {
  REQUIRE_FALSE(answer.reply);
  CHECK(answer.failure.error.message.find('\n') == std::string::npos);
  CHECK(answer.failure.error.message.size() < 400);
  return answer.failure;
}

}  // namespace kernelgen::testing
