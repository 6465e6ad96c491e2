#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include <fmt/format.h>

#include <kernelgen/llm/clients.hpp>

#include "llm/chat_completions.hpp"
#include "llm/http.hpp"
#include "llm/retry.hpp"
#include "support/random_id.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// Immutable: each request has handles, clocks and a random engine of its own.
class OpenAIClient final : public LLMClient {
 public:
  OpenAIClient(OpenAIClientOptions options, BaseUrl base) : options_(std::move(options)), base_(std::move(base)) {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    if (!std::isfinite(request.temperature)) return refusal("the temperature is not a number");
    const auto deadline = Clock::now() + std::min(request.timeout, k_forever);
    HttpRequest post = prepare(request);
    std::mt19937_64 engine(random_u64());
    std::string before;
    for (int attempts = 1;; ++attempts) {
      post.timeout = std::chrono::ceil<milliseconds>(deadline - Clock::now());
      if (post.timeout <= milliseconds::zero()) return timed_out(request, before);
      const auto sent = Clock::now();
      auto answer = ask(post, stop);
      if (answer.reply) {
        answer.reply->latency = Clock::now() - sent;
        return *std::move(answer.reply);
      }
      if (answer.failure.error.code == ErrorCode::Cancelled) return Error{ErrorCode::Cancelled, "cancelled"};
      if (answer.failure.error.code == ErrorCode::Timeout) return timed_out(request, before);
      const auto remaining = std::chrono::floor<milliseconds>(deadline - Clock::now());
      const auto delay =
          retry_delay(options_.retry, {answer.failure.kind, attempts, answer.retry_after, remaining}, engine);
      if (!delay) return final_error(std::move(answer), attempts);
      before = std::move(answer.failure.error.message);
      if (request.on_retry) request.on_retry(before, *delay);
      if (!sleep_for(*delay, stop)) return Error{ErrorCode::Cancelled, "cancelled"};
    }
  }

  [[nodiscard]] std::string identity() const override { return "openai " + sanitize_line(options_.model, 200); }
  [[nodiscard]] std::string endpoint() const override { return base_.host; }

 private:
  /// For messages: "openai gpt-5 at api.openai.com".
  [[nodiscard]] std::string describe() const { return identity() + " at " + endpoint(); }

  struct Answer {
    std::optional<Reply> reply;
    HttpFailure failure;
    std::optional<milliseconds> retry_after;
  };

  [[nodiscard]] HttpRequest prepare(const LLMRequest& request) const {
    HttpRequest post;
    post.url = base_.url + "/chat/completions";
    post.headers = {"Content-Type: application/json", "Accept: application/json"};
    if (!options_.api_key.empty()) post.headers.push_back("Authorization: Bearer " + options_.api_key);
    post.body = chat_request_body(request, options_.model, base_.host);
    post.proxy = options_.proxy;
    post.no_proxy = options_.no_proxy;
    post.ca_file = options_.ca_file.string();
    post.idle_timeout = std::min(options_.idle_timeout, k_forever);
    return post;
  }

  [[nodiscard]] Answer ask(const HttpRequest& post, const std::stop_token& stop) const {
    auto outcome = http_post(post, stop);
    if (!outcome.response) return {{}, std::move(outcome.failure), {}};
    auto answer = read_chat_answer(*outcome.response, options_.api_key);
    return {std::move(answer.reply), std::move(answer.failure), outcome.response->retry_after};
  }

  [[nodiscard]] Error refusal(std::string_view what) const {
    return {ErrorCode::InvalidArgument, fmt::format("{}: {}", describe(), what), {}};
  }

  /// `before`: why an earlier attempt failed; empty when this was the first.
  [[nodiscard]] Error timed_out(const LLMRequest& request, const std::string& before) const {
    const double seconds = std::chrono::duration<double>(request.timeout).count();
    return {
        ErrorCode::Timeout,
        fmt::format("{}: no reply within {:.3g} s{}{}", describe(), seconds, before.empty() ? "" : ", after ", before),
        {}};
  }

  [[nodiscard]] Error final_error(Answer answer, int attempts) const {
    Error error = std::move(answer.failure.error);
    error.message = fmt::format("{}: {}", describe(), error.message);
    if (answer.failure.kind == AttemptFailure::Final) return error;
    error.message += fmt::format(" ({} attempt{}", attempts, attempts == 1 ? "" : "s");
    if (answer.retry_after)
      error.message += fmt::format(", the server asks to wait {} s", answer.retry_after->count() / 1000);
    error.message += ')';
    return error;
  }

  OpenAIClientOptions options_;
  BaseUrl base_;
};

/// A line end within a key could add a header to the request; other control characters are leftovers of copy and paste.
bool is_sendable_key(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

Result<std::unique_ptr<LLMClient>> make_openai_client(OpenAIClientOptions options) {
  const auto refuse = [](std::string message) { return Error{ErrorCode::InvalidArgument, std::move(message), {}}; };
  KERNELGEN_TRY(auto base, parse_base_url(options.base_url));
  if (trim(options.model).empty()) return refuse("no model is named");
  if (!is_sendable_key(options.api_key))
    return refuse("the API key holds a line end, a blank or a character that is not ASCII; it is not shown here");
  if (options.retry.max_attempts < 1) return refuse("retry.max_attempts must be at least 1");
  if (options.retry.base < milliseconds::zero() || options.retry.longest < milliseconds::zero())
    return refuse("delays between attempts cannot be negative");
  if (options.idle_timeout <= milliseconds::zero()) return refuse("idle_timeout must be positive");
  return std::unique_ptr<LLMClient>(std::make_unique<OpenAIClient>(std::move(options), std::move(base)));
}

}  // namespace v0
}  // namespace kernelgen
