#include "fuzz/answer_fuzz.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "llm/answer_reader.hpp"
#include "llm/protocol.hpp"

using namespace kernelgen;

namespace {

constexpr std::string_view k_fuzz_key = "sk-0123456789";

Answer read_in_pieces(const Protocol& protocol, const HttpResponse& response, std::string_view body,
                      std::size_t piece) {
  constexpr int k_choices = 3;
  AnswerReader reader(protocol, std::string(k_fuzz_key), k_choices);
  for (std::size_t at = 0; at < body.size(); at += piece) reader.take(response, body.substr(at, piece));
  return reader.finish(response);
}

/// Either a reply or a failure of one line that is not too long and holds no key.
void check_answer(const Answer& answer) {
  const auto& message = answer.failure.error.message;
  if (answer.reply.has_value() == !message.empty()) std::abort();
  if (message.size() > 500 || message.find('\n') != std::string::npos) std::abort();
  if (message.find(k_fuzz_key) != std::string::npos) std::abort();
  if (!answer.further.empty() && !answer.reply) std::abort();
  for (const auto& reply : answer.further)
    if (reply.text.find(k_fuzz_key) != std::string::npos) std::abort();
}

}  // namespace

void fuzz_answer(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const auto* protocol : {&k_chat_completions, &k_responses, &k_messages, &k_generate_content})
    for (const long status : {200L, 400L, 429L})
      for (const char* type : {"text/event-stream", "application/json"}) {
        HttpResponse response;
        response.status = status;
        response.headers["content-type"] = type;
        const auto whole = read_in_pieces(*protocol, response, body, std::max<std::size_t>(size, 1));
        check_answer(whole);
        for (const std::size_t piece : {1u, 7u}) {
          const auto pieces = read_in_pieces(*protocol, response, body, piece);
          if (pieces.reply.has_value() != whole.reply.has_value()) std::abort();
          if (whole.reply && pieces.reply->text != whole.reply->text) std::abort();
          if (pieces.further.size() != whole.further.size()) std::abort();
          if (pieces.failure.error.message != whole.failure.error.message) std::abort();
        }
      }
}

#ifdef KERNELGEN_LIBFUZZER
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz_answer(data, size);
  return 0;
}
#endif
