#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <mutex>
#include <random>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <kernelgen/llm/clients.hpp>

#include "llm/answer_reader.hpp"
#include "llm/base_url.hpp"
#include "llm/continuation.hpp"
#include "llm/http.hpp"
#include "llm/protocol.hpp"
#include "llm/retry.hpp"
#include "llm/server_traffic.hpp"
#include "llm/several.hpp"
#include "support/random_id.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

/// OpenAI's newer models refuse the old name of the limit; most other servers know only that one.
constexpr std::string_view k_openai_host = "api.openai.com";
/// Each part of a form can be refused once.
constexpr int k_max_other_forms = 4;
constexpr long k_not_found = 404;

class ServerClient final : public LLMClient {
 public:
  ServerClient(ServerClientOptions options, BaseUrl base)
      : options_(std::move(options)),
        base_(std::move(base)),
        protocol_(protocol_of(options_.protocol)),
        gate_(options_.traffic->gate_of(base_.host, options_.api_key, options_.max_concurrent)),
        form_{.model = options_.model,
              .streams = options_.streaming == Streaming::On,
              .has_new_limit_name = base_.host == k_openai_host,
              .default_limit = options_.default_output_tokens} {}

  Result<Reply> complete(const LLMRequest& request, std::stop_token stop) override {
    auto left = time_of(request);
    KERNELGEN_TRY(auto replies, ask_until_answered({request, "", 1, left}, stop));
    go_on(replies.front(), request, left, stop);
    return std::move(replies.front());
  }

  void complete_several(const LLMRequest& request, int count, std::stop_token stop,
                        const std::function<void(int, Result<Reply>)>& take) override {
    int given = 0;
    if (count > 1 && protocol_.has_choices && takes_choices_) {
      auto left = time_of(request);
      if (auto replies = ask_until_answered({request, "", count, left}, stop)) {
        for (auto& reply : *replies) {
          auto own_left = left;
          go_on(reply, request, own_left, stop);
          take(++given, std::move(reply));
        }
      } else {
        // Servers and models without choices refuse them, some of them as an error of their own.
        auto one = may_be_for_choices(replies.error().code) ? ask_first_of(request, stop) : replies.error();
        if (!one) {
          for (int number = 1; number <= count; ++number) take(number, one.error());
          return;
        }
        takes_choices_ = false;
        take(++given, std::move(one));
      }
    }
    if (given < count) ask_for_each(*this, request, given + 1, count, stop, take);
  }

  [[nodiscard]] std::string identity() const override {
    return options_.provider + ' ' + sanitize_line(options_.model, 200);
  }
  [[nodiscard]] std::string endpoint() const override { return base_.host; }
  [[nodiscard]] ModelTerms terms(PromptKind) const override { return options_.terms; }

 private:
  /// A model is asked with the prompt alone, or is to go on with the reply that begins with `so_far`.
  struct Conversation {
    const LLMRequest& request;
    std::string_view so_far;
    int choices = 1;
    /// The time that is left. Waiting for other requests takes nothing off it.
    Clock::duration& left;
  };

  static Clock::duration time_of(const LLMRequest& request) { return std::min(request.timeout, k_forever); }

  /// Whether a request for several replies may have failed because it was one for several.
  static bool may_be_for_choices(ErrorCode code) {
    return code == ErrorCode::InvalidArgument || code == ErrorCode::Unavailable;
  }

  Result<Reply> ask_first_of(const LLMRequest& request, const std::stop_token& stop) {
    auto first = request;
    first.id += '1';
    return complete(first, stop);
  }

  /// Asks for the rest of a reply that was cut by its limit. What there is was paid for, so no failure loses it; a
  /// reply without an end says so by its reason to finish.
  void go_on(Reply& reply, const LLMRequest& request, Clock::duration& left, const std::stop_token& stop) {
    for (int i = 0; i < request.continuations && reply.finish == FinishReason::Length && !reply.text.empty(); ++i) {
      const auto next = ask_until_answered({request, reply.text, 1, left}, stop);
      if (!next) return;
      append_reply(reply, next->front());
    }
  }

  /// Asks as often as the table of retries allows. At least one reply and at most as many as there are choices.
  Result<std::vector<Reply>> ask_until_answered(const Conversation& asked, const std::stop_token& stop) {
    const auto& request = asked.request;
    if (!std::isfinite(request.temperature)) return refusal("the temperature is not a number");
    std::mt19937_64 engine(random_u64());
    std::string before;
    int other_forms = 0;
    for (int attempts = 1;; ++attempts) {
      if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
      if (asked.left <= milliseconds::zero()) return timed_out(request, before);
      const auto entered = gate_.enter(options_.model, estimate_tokens(request, asked.so_far), options_.retry.longest,
                                       stop, [&](milliseconds wait) { tell_wait(request, wait); });
      if (!entered) return with_place(entered.error());
      const auto begun = Clock::now();
      auto form = current_form();
      form.choices = asked.choices;
      auto answer = ask({request, asked.so_far, form, std::chrono::ceil<milliseconds>(asked.left)}, stop);
      asked.left -= Clock::now() - begun;
      if (answer.reply) {
        std::vector<Reply> replies{*std::move(answer.reply)};
        std::move(answer.further.begin(), answer.further.end(), std::back_inserter(replies));
        return replies;
      }
      if (!answer.refusal.empty() && other_forms++ < k_max_other_forms && change_form(form, answer.refusal)) {
        --attempts;
        continue;
      }
      if (answer.failure.error.code == ErrorCode::Cancelled) return Error{ErrorCode::Cancelled, "cancelled"};
      if (answer.failure.error.code == ErrorCode::Timeout) return timed_out(request, before);
      const auto remaining = std::chrono::floor<milliseconds>(asked.left);
      const auto delay =
          retry_delay(options_.retry, {answer.failure.kind, attempts, answer.retry_after, remaining}, engine);
      if (!delay) return final_error(std::move(answer), attempts);
      before = std::move(answer.failure.error.message);
      if (request.on_retry) request.on_retry(before, *delay);
      if (!sleep_for(*delay, stop)) return Error{ErrorCode::Cancelled, "cancelled"};
      asked.left -= *delay;
    }
  }

  /// The parts of a request that is sent once.
  struct Question {
    const LLMRequest& request;
    std::string_view so_far;
    const RequestForm& form;
    milliseconds timeout;
  };

  /// For messages: "openai gpt-5 at api.openai.com".
  [[nodiscard]] std::string describe() const { return identity() + " at " + endpoint(); }

  static void tell_wait(const LLMRequest& request, milliseconds wait) {
    if (request.on_retry) request.on_retry("the limits of the server", wait);
  }

  [[nodiscard]] Error with_place(Error error) const {
    if (error.code != ErrorCode::Cancelled) error.message = fmt::format("{}: {}", describe(), error.message);
    return error;
  }

  static std::int64_t estimate_tokens(const LLMRequest& request, std::string_view so_far) {
    constexpr std::size_t k_bytes_per_token = 4;
    return static_cast<std::int64_t>((request.prompt.size() + so_far.size()) / k_bytes_per_token);
  }

  /// No limit above the model's own, which some servers refuse: one search may ask several models.
  [[nodiscard]] LLMRequest within_terms(LLMRequest request) const {
    const auto& most = options_.terms.max_output_tokens;
    if (most && request.max_output_tokens) request.max_output_tokens = std::min(*request.max_output_tokens, *most);
    return request;
  }

  [[nodiscard]] HttpRequest prepare(const Question& question) const {
    const auto& form = question.form;
    HttpRequest post;
    post.url = base_.url + protocol_.path(form);
    post.headers = {"Content-Type: application/json",
                    form.streams ? "Accept: text/event-stream, application/json" : "Accept: application/json"};
    const auto key_header = options_.key_header.empty() ? std::string(protocol_.key_header) : options_.key_header;
    if (!options_.api_key.empty()) post.headers.push_back(key_header + options_.api_key);
    if (!protocol_.own_header.empty()) post.headers.emplace_back(protocol_.own_header);
    post.body = protocol_.body(within_terms(question.request), form, question.so_far);
    post.proxy = options_.proxy;
    post.no_proxy = options_.no_proxy;
    post.ca_file = options_.ca_file.string();
    post.timeout = std::max(question.timeout, milliseconds::zero());
    post.connect_timeout = options_.connect_timeout;
    post.first_byte_timeout = options_.first_byte_timeout;
    post.idle_timeout = std::min(options_.idle_timeout, k_forever);
    return post;
  }

  /// Leaves the gate, whatever happens to the request that entered it.
  class Place {
   public:
    Place(RateGate& gate, const std::string& model) : gate_(gate), model_(model) {}
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() { gate_.leave(model_, is_answered); }

    bool is_answered = false;

   private:
    RateGate& gate_;
    const std::string& model_;
  };

  /// Sends the request once, and leaves the gate.
  [[nodiscard]] Answer ask(const Question& question, const std::stop_token& stop) const {
    Place place(gate_, options_.model);
    const auto sent = Clock::now();
    auto post = prepare(question);
    AnswerReader reader(protocol_, options_.api_key, question.form.choices);
    std::optional<HttpResponse> begun;
    if (question.request.on_progress) post.on_news = [&] { question.request.on_progress(reader.progress()); };
    post.on_body = [&](const HttpHead& head, std::string_view bytes) {
      // A stream lasts for minutes; its limits are those of now.
      if (!begun) {
        gate_.note_head(options_.model, head);
        begun = HttpResponse{head, {}};
      }
      reader.take(head, bytes);
    };
    post.has_begun = [&] { return reader.has_begun(); };
    auto outcome = options_.traffic->engine().send(post, stop);
    // A reply that is whole was paid for, even if the connection did not end as it should.
    const bool is_given_up =
        outcome.failure.error.code == ErrorCode::Cancelled || outcome.failure.error.code == ErrorCode::Timeout;
    if (!outcome.response && !is_given_up && reader.is_whole_stream()) outcome.response = std::move(begun);
    Answer attempt;
    if (outcome.response) {
      attempt = reader.finish(*outcome.response);
      attempt.status = outcome.response->status;
      if (outcome.response->retry_after) attempt.retry_after = outcome.response->retry_after;
    } else {
      attempt.failure = std::move(outcome.failure);
    }
    const auto note_times = [&](Reply& reply) {
      reply.latency = Clock::now() - sent;
      if (reader.first_output()) reply.first_output = *reader.first_output() - sent;
      reply.left_out = left_out_of(question.form);
      reply.prices = options_.terms.prices;
    };
    if (attempt.reply) note_times(*attempt.reply);
    std::for_each(attempt.further.begin(), attempt.further.end(), note_times);
    if (attempt.failure.kind == AttemptFailure::Overloaded && !attempt.reply)
      gate_.note_refusal(options_.model,
                         std::min(attempt.retry_after.value_or(milliseconds::zero()), options_.retry.longest));
    place.is_answered = attempt.reply.has_value();
    return attempt;
  }

  [[nodiscard]] RequestForm current_form() const {
    const std::scoped_lock lock(mutex_);
    return form_;
  }

  /// Makes this and all later requests leave out what was refused in these words. False when there is nothing to leave
  /// out.
  bool change_form(const RequestForm& refused, std::string_view words) {
    const auto form = form_without_refused(refused, words);
    if (!form) return false;
    const std::scoped_lock lock(mutex_);
    form_ = *form;
    form_.choices = 1;
    return true;
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
    if (error.code == ErrorCode::PermissionDenied && !options_.key_source.empty())
      error.message += fmt::format("; {} {}", options_.api_key.empty() ? "no key was sent, set" : "the key is that of",
                                   options_.key_source);
    // A server that knows the address names what it misses.
    if (answer.status == k_not_found && !contains(answer.refusal, "model"))
      error.message +=
          fmt::format("; asked for {}{}; is the base URL right?", base_.url, protocol_.path(current_form()));
    if (answer.failure.kind == AttemptFailure::Final) return error;
    error.message += fmt::format(" ({} attempt{}", attempts, attempts == 1 ? "" : "s");
    if (answer.retry_after)
      error.message += fmt::format(", the server asks to wait {} s", answer.retry_after->count() / 1000);
    error.message += ')';
    return error;
  }

  const ServerClientOptions options_;
  const BaseUrl base_;
  const Protocol& protocol_;
  RateGate& gate_;
  mutable std::mutex mutex_;
  RequestForm form_;
  std::atomic<bool> takes_choices_ = true;
};

/// "Name: " or "Name: scheme ", for the key to follow.
bool is_key_header(std::string_view header) {
  const auto colon = header.find(':');
  return colon != header.npos && colon > 0 &&
         std::all_of(header.begin(), header.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

/// A line end within a key could add a header to the request; other control characters are leftovers of copy and paste.
bool is_sendable_key(std::string_view key) {
  return std::all_of(key.begin(), key.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

std::string_view to_string(LLMProtocol protocol) { return protocol_of(protocol).name; }

std::optional<LLMProtocol> parse_llm_protocol(std::string_view name) {
  for (const auto protocol :
       {LLMProtocol::ChatCompletions, LLMProtocol::Responses, LLMProtocol::Messages, LLMProtocol::GenerateContent})
    if (to_string(protocol) == name) return protocol;
  return std::nullopt;
}

Result<std::shared_ptr<ServerTraffic>> make_server_traffic() {
  KERNELGEN_TRY(auto engine, make_http_engine());
  return std::make_shared<ServerTraffic>(std::move(engine));
}

Result<std::unique_ptr<LLMClient>> make_server_client(ServerClientOptions options) {
  const auto refuse = [](std::string message) { return Error{ErrorCode::InvalidArgument, std::move(message), {}}; };
  KERNELGEN_TRY(auto base, parse_base_url(options.base_url));
  if (trim(options.model).empty()) return refuse("no model is named");
  if (!is_sendable_key(options.api_key))
    return refuse("the API key holds a line end, a blank or a character that is not ASCII; it is not shown here");
  if (!options.key_header.empty() && !is_key_header(options.key_header))
    return refuse("key_header is the beginning of one header, such as \"api-key: \"");
  if (options.retry.max_attempts < 1) return refuse("retry.max_attempts must be at least 1");
  if (options.retry.base < milliseconds::zero() || options.retry.longest < milliseconds::zero())
    return refuse("delays between attempts cannot be negative");
  if (options.idle_timeout <= milliseconds::zero()) return refuse("idle_timeout must be positive");
  if (options.connect_timeout <= milliseconds::zero()) return refuse("connect_timeout must be positive");
  if (options.first_byte_timeout && *options.first_byte_timeout <= milliseconds::zero())
    return refuse("first_byte_timeout must be positive");
  if (options.max_concurrent && *options.max_concurrent < 1) return refuse("max_concurrent must be at least 1");
  if (options.default_output_tokens < 1) return refuse("default_output_tokens must be at least 1");
  if (options.traffic == nullptr) {
    KERNELGEN_TRY(options.traffic, make_server_traffic());
  }
  return std::unique_ptr<LLMClient>(std::make_unique<ServerClient>(std::move(options), std::move(base)));
}

}  // namespace v0
}  // namespace kernelgen
