#include <fmt/format.h>

#include <kernelgen/bench/spool.hpp>

#include "bench/library_use.hpp"
#include "bench/protocol.hpp"
#include "bench/spool.hpp"
#include "support/sha256.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::steady_clock;

class SpoolBenchmarker final : public Benchmarker, public ProfilingBenchmarker {
 public:
  SpoolBenchmarker(SpoolBenchmarkerOptions options, FileExchange exchange)
      : options_(std::move(options)), exchange_(std::move(exchange)) {}

  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    const auto check = [&](const RecordMessage& answer) -> Result<void> {
      if (answer.record.candidate_id != request.candidate.id || answer.record.task_name != request.task.name)
        return Error{ErrorCode::Protocol, "a \"record\" of something else"};
      return require_work(answer.record, request.options.library_use);
    };
    const Message question = EvaluateMessage{.request = request};
    KERNELGEN_TRY(auto answer, ask<RecordMessage>(question, check, progress, stop));
    const auto& outcome = answer.record.outcome;
    // The next attempt is to be another measurement.
    if (outcome.could_not_be_measured() || outcome.kind == OutcomeKind::Suspect)
      KERNELGEN_CHECK(forget(id_of(question)));
    return std::move(answer.record);
  }

  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    const auto check = [&](const DescriptionMessage& answer) -> Result<void> {
      if (answer.description.name != task.name)
        return Error{ErrorCode::Protocol, "a \"description\" of something else"};
      return {};
    };
    KERNELGEN_TRY(auto answer,
                  ask<DescriptionMessage>(DescribeMessage{.task = task, .options = options}, check, {}, stop));
    return std::move(answer.description);
  }

  Result<Profile> profile(const RemoteProfileRequest& request, std::stop_token stop) override {
    const auto check = [](const ProfiledMessage&) -> Result<void> { return {}; };
    const Message question = ProfileMessage{.request = request};
    KERNELGEN_TRY(auto answer, ask<ProfiledMessage>(question, check, {}, stop));
    // What hindered it may be mended by the next attempt.
    if (answer.profile.unavailable || answer.profile.no_counters) KERNELGEN_CHECK(forget(id_of(question)));
    return std::move(answer.profile);
  }

 private:
  static std::string id_of(const Message& question) {
    return fmt::format("{}-{}", type_of(question), sha256_hex(to_json(question)).substr(0, 32));
  }

  /// Sets an answer aside. The request goes first, or a worker would take it again.
  Result<void> forget(const std::string& id) const {
    KERNELGEN_CHECK(exchange_.withdraw(id));
    return exchange_.set_reply_aside(id);
  }

  template <class Answer, class Check>
  Result<Answer> ask(const Message& question, Check check, const ProgressCallback& progress,
                     const std::stop_token& stop) {
    const auto request = to_json(question);
    const auto id = id_of(question);
    KERNELGEN_TRY(const auto reply, await(id, request, progress, stop));
    auto message = parse_message(reply);
    auto mistake = message ? Error{ErrorCode::Protocol, fmt::format("a \"{}\"", type_of(*message))} : message.error();
    if (message) {
      if (auto* answer = std::get_if<Answer>(&*message)) {
        auto checked = check(*answer);
        if (checked) return std::move(*answer);
        mistake = std::move(checked).error();
      }
      if (auto* error = std::get_if<ErrorMessage>(&*message)) {
        // An error is not kept, so asking again is another attempt.
        KERNELGEN_CHECK(forget(id));
        return std::move(error->error);
      }
    }
    KERNELGEN_CHECK(exchange_.set_reply_aside(id));
    return Error{ErrorCode::Protocol, fmt::format("{} is no answer to its request ({}); it was set aside",
                                                  exchange_.reply_path(id).string(), mistake.message)};
  }

  Result<std::string> await(const std::string& id, const std::string& request, const ProgressCallback& progress,
                            const std::stop_token& stop) {
    if (stop.stop_requested()) return Error{ErrorCode::Cancelled, "cancelled"};
    // The name of a result identifies the request, so the request file may be gone.
    KERNELGEN_TRY(auto there, exchange_.find_reply(id));
    if (there) return *std::move(there);
    if (progress && options_.waiting == Waiting::Wait) progress({"queue", "waiting for a worker"});
    AskOptions options{.waiting = options_.waiting};
    if (options_.timeout) options.deadline = steady_clock::now() + *options_.timeout;
    options.on_claimed = [&](const std::string& holder) {
      if (progress) progress({"queue", "at " + holder});
    };
    auto reply = exchange_.ask(id, request, options, stop);
    if (!reply && reply.error().code == ErrorCode::Cancelled) {
      // This frees the device. If withdrawing fails, a worker only judges in vain.
      [[maybe_unused]] const auto withdrawn = exchange_.withdraw(id);
    }
    return reply;
  }

  SpoolBenchmarkerOptions options_;
  FileExchange exchange_;
};

}  // namespace

Result<std::unique_ptr<Benchmarker>> make_spool_benchmarker(SpoolBenchmarkerOptions options) {
  if (options.directory.empty()) return Error{ErrorCode::InvalidArgument, "a spool needs a directory"};
  auto exchange_options = spool_exchange(options.directory);
  exchange_options.poll = options.poll;
  KERNELGEN_TRY(auto exchange, FileExchange::open(std::move(exchange_options)).context("opening the spool"));
  return std::unique_ptr<Benchmarker>(std::make_unique<SpoolBenchmarker>(std::move(options), std::move(exchange)));
}

}  // namespace v0
}  // namespace kernelgen
