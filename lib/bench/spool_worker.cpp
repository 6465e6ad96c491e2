#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "bench/protocol.hpp"
#include "bench/spool.hpp"
#include "bench/spool_heartbeat.hpp"
#include "support/lease_watch.hpp"
#include "support/shared_directory.hpp"
#include "support/sleep.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A request during which so many workers were lost is not judged again: it may be what ends them.
constexpr std::size_t k_max_lost_workers = 3;

/// Renews a claim while its request is judged, and cancels the work if the claim is lost or the worker has to end.
class LeaseKeeper {
 public:
  LeaseKeeper(const FileClaim& claim, milliseconds lease, const std::stop_token& stop)
      : end_(stop, End{work_}), thread_([this, &claim, lease](const std::stop_token& done) {
          while (sleep_for(lease / 4, done)) {
            const auto state = claim.refresh();
            // The lease tolerates some errors; a claim that can no longer be renewed is lost later.
            if (!state || *state == ClaimState::Held) continue;
            work_.request_stop();
            return;
          }
        }) {}

  [[nodiscard]] std::stop_token work() const { return work_.get_token(); }

 private:
  struct End {
    std::stop_source& work;
    void operator()() const { work.request_stop(); }
  };
  std::stop_source work_;
  std::stop_callback<End> end_;
  std::jthread thread_;
};

/// The request in a file, which may hold anything.
Result<Message> read_request(const FileClaim& claim) {
  KERNELGEN_TRY(const auto body, claim.read());
  KERNELGEN_TRY(auto message, parse_message(body));
  const auto* evaluate = std::get_if<EvaluateMessage>(&message);
  if ((evaluate != nullptr && !evaluate->prebuilt) || std::holds_alternative<DescribeMessage>(message) ||
      std::holds_alternative<ProfileMessage>(message))
    return message;
  return Error{ErrorCode::Unsupported, fmt::format("\"{}\" is no request for a file", type_of(message))};
}

Message take_profile(Benchmarker& benchmarker, const ProfileMessage& asked, const std::stop_token& stop) {
  auto* profiling = dynamic_cast<ProfilingBenchmarker*>(&benchmarker);
  if (profiling == nullptr) return ErrorMessage{asked.id, {ErrorCode::Unsupported, "this worker takes no profiles"}};
  return answer_to<ProfiledMessage>(asked.id, profiling->profile(asked.request, stop));
}

Message judge(Benchmarker& benchmarker, const Result<Message>& request, const std::stop_token& stop) {
  if (!request) return ErrorMessage{0, request.error()};
  if (const auto* evaluate = std::get_if<EvaluateMessage>(&*request))
    return answer_to<RecordMessage>(evaluate->id, benchmarker.evaluate(evaluate->request, {}, stop));
  if (const auto* profile = std::get_if<ProfileMessage>(&*request)) return take_profile(benchmarker, *profile, stop);
  const auto& describe = std::get<DescribeMessage>(*request);
  return answer_to<DescriptionMessage>(describe.id, benchmarker.describe(describe.task, describe.options, stop));
}

/// Judges a request. No request may end the worker, not even by exhausting memory.
Message judge_safely(Benchmarker& benchmarker, const Result<Message>& request, const std::stop_token& stop) try {
  return judge(benchmarker, request, stop);
} catch (const std::exception& error) {
  return ErrorMessage{0, {ErrorCode::Internal, fmt::format("judging failed: {}", error.what())}};
}

/// "worker a-1", "workers a-1 and b-2".
std::string describe_lost(const std::vector<std::string>& holders) {
  return (holders.size() == 1 ? "worker " : "workers ") + fmt::format("{}", fmt::join(holders, " and "));
}

/// Notes in a record that the request may have been judged before.
Message with_lost_workers(Message answer, const std::vector<std::string>& holders) {
  auto* record = std::get_if<RecordMessage>(&answer);
  if (record != nullptr && !holders.empty())
    record->record.labels.push_back("judged again: " + describe_lost(holders) + " stopped answering while judging it");
  return answer;
}

std::string summarize(const Message& answer) {
  if (const auto* record = std::get_if<RecordMessage>(&answer)) return record->record.outcome.to_class();
  if (const auto* error = std::get_if<ErrorMessage>(&answer))
    return "error: " + sanitize_line(error->error.to_line(), 200);
  return std::string(type_of(answer));
}

/// Serves with several threads, each of which claims under a name of its own.
class SpoolServer {
 public:
  SpoolServer(Benchmarker& benchmarker, const FileExchange& exchange, const SpoolWorkerOptions& options,
              const ReadinessCheck& check)
      : benchmarker_(benchmarker),
        exchange_(exchange),
        options_(options),
        check_(check),
        jobs_(options.jobs.value_or(k_jobs_per_device)),
        heartbeat_(options.directory, jobs_) {}

  Result<void> run(const std::stop_token& stop) {
    // A failure that ends one thread concerns the directory, and ends all threads.
    std::stop_source all;
    const std::stop_callback forward(stop, [&all] { all.request_stop(); });
    // Errors are ignored here and below, because then the leases decide.
    [[maybe_unused]] const auto released = release_ended_workers(exchange_);
    const std::jthread upkeep([this](const std::stop_token& done) { beat(done); });
    const std::jthread client_watch([this, &all](const std::stop_token& done) { watch_client(done, all); });
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(jobs_));
    for (int job = 0; job < jobs_; ++job)
      threads.emplace_back([this, &all] {
        auto served = serve_until(all.get_token());
        if (served) return;
        all.request_stop();
        const std::scoped_lock lock(mutex_);
        if (!failure_) failure_ = std::move(served).error();
      });
    threads.clear();
    if (failure_) return *std::move(failure_);
    const bool cut_short = options_.mode == SpoolMode::Once && stop.stop_requested();
    return cut_short ? Result<void>(Error{ErrorCode::Cancelled, "cancelled"}) : Result<void>();
  }

 private:
  /// Renews the heartbeat of this worker, and removes leftovers of dead ones.
  void beat(const std::stop_token& done) {
    constexpr auto k_between_cleanings = std::chrono::hours{1};
    auto next_cleaning = steady_clock::now() + k_between_cleanings;
    clean();
    while (sleep_for(options_.lease / 4, done)) {
      heartbeat_.renew();
      [[maybe_unused]] const auto released = release_ended_workers(exchange_);
      if (steady_clock::now() < next_cleaning) continue;
      clean();
      next_cleaning += k_between_cleanings;
    }
  }

  /// Removes leftovers. Errors are ignored, because leftovers do no harm.
  void clean() {
    [[maybe_unused]] const auto files = exchange_.remove_leftovers();
    [[maybe_unused]] const auto heartbeats = remove_dead_heartbeats(options_.directory, options_.lease);
  }

  /// Ends all threads once the client is gone. Errors of the directory end the threads that serve it.
  void watch_client(const std::stop_token& done, std::stop_source& all) const {
    if (options_.client.empty()) return;
    const auto name = client_heartbeat_name(options_.client);
    LeaseWatch watch(options_.lease);
    do {
      const auto directory = SharedDirectory::open(options_.directory);
      if (!directory) continue;
      const auto heartbeat = directory->status(name);
      if (!heartbeat) continue;
      // Whether it is old is decided by watching alone, because the clocks of client and file system may differ.
      if (*heartbeat && !watch.has_expired(name, (*heartbeat)->modified, {})) continue;
      all.request_stop();
      return;
    } while (sleep_for(options_.poll, done));
  }

  /// Time for which no thread had a request.
  [[nodiscard]] milliseconds idle_time() const {
    if (busy_threads_ > 0) return milliseconds{0};
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - last_work_.load());
  }

  [[nodiscard]] bool is_idle_too_long() const { return options_.idle_limit && idle_time() >= *options_.idle_limit; }

  Result<void> serve_until(const std::stop_token& stop) {
    const auto holder = make_holder_name();
    heartbeat_.add_holder(holder);
    auto last_request = steady_clock::now();
    while (!stop.stop_requested() && !is_idle_too_long()) {
      KERNELGEN_TRY(const auto claim, exchange_.claim_next(holder));
      if (claim) {
        ++busy_threads_;
        heartbeat_.begin(claim->id(), holder);
        auto served = serve(*claim, stop);
        heartbeat_.end(claim->id());
        last_work_ = last_request = steady_clock::now();
        --busy_threads_;
        if (!served) return served;
      } else if (options_.mode == SpoolMode::Once) {
        return {};
      } else {
        const auto waited = std::chrono::duration_cast<milliseconds>(steady_clock::now() - last_request);
        sleep_for(next_poll(waited, options_.poll), stop);
      }
    }
    return {};
  }

  Result<void> serve(const FileClaim& claim, const std::stop_token& stop) {
    const LeaseKeeper keeper(claim, options_.lease, stop);
    const auto& lost = claim.expired_holders();
    const auto request =
        lost.size() < k_max_lost_workers ? read_request(claim) : Result<Message>(too_many_lost_workers(lost));
    if (request) {
      auto ready = check_readiness(keeper.work());
      if (!ready) {
        KERNELGEN_CHECK(claim.give_back());
        return keeper.work().stop_requested() ? Result<void>() : ready;
      }
    }
    auto answer = with_lost_workers(judge_safely(benchmarker_, request, keeper.work()), lost);
    // A verdict that was ready before the claim was lost is still published.
    if (keeper.work().stop_requested() && std::holds_alternative<ErrorMessage>(answer)) return claim.give_back();
    auto text = to_json(answer);
    if (text.size() > exchange_.options().max_bytes) {
      answer = ErrorMessage{0, {ErrorCode::Internal, "the answer is larger than a result file may be"}};
      text = to_json(answer);
    }
    auto published = claim.publish(text);
    if (!published) {
      // Another worker may be able to write there, and need not wait for the end of the lease.
      [[maybe_unused]] const auto given_back = claim.give_back();
      return std::move(published).context("answering " + claim.id()).error();
    }
    if (*published == ClaimState::Lost) return {};
    auto summary = summarize(answer);
    if (!lost.empty()) summary += ", judged again after " + describe_lost(lost);
    if (*published == ClaimState::Answered) summary += ", dropped: another worker has answered it meanwhile";
    const std::scoped_lock lock(mutex_);
    if (options_.on_answer) options_.on_answer(claim.id(), summary);
    return {};
  }

  static Error too_many_lost_workers(const std::vector<std::string>& lost) {
    return {ErrorCode::Unavailable,
            fmt::format("{} stopped answering while judging it, and it is not tried again: look "
                        "for what ended them (memory, time limit of a job, the candidate)",
                        describe_lost(lost))};
  }

  /// Checks whether the machine can judge. This is done at the first request, so that an idle worker need not load
  /// torch.
  Result<void> check_readiness(const std::stop_token& stop) {
    const std::scoped_lock lock(check_mutex_);
    if (is_ready_ || !check_) return {};
    KERNELGEN_CHECK(check_(stop));
    is_ready_ = true;
    return {};
  }

  Benchmarker& benchmarker_;
  const FileExchange& exchange_;
  const SpoolWorkerOptions& options_;
  const ReadinessCheck& check_;
  const int jobs_;
  SpoolHeartbeat heartbeat_;
  std::atomic<int> busy_threads_ = 0;
  std::atomic<steady_clock::time_point> last_work_ = steady_clock::now();
  std::mutex check_mutex_;
  bool is_ready_ = false;
  std::mutex mutex_;
  std::optional<Error> failure_;
};

}  // namespace

Result<void> serve_spool(Benchmarker& benchmarker, const SpoolWorkerOptions& options, const std::stop_token& stop,
                         const ReadinessCheck& check) {
  if (options.directory.empty()) return Error{ErrorCode::InvalidArgument, "a spool needs a directory"};
  if (options.jobs && *options.jobs < 1)
    return Error{ErrorCode::InvalidArgument, "a worker takes at least one request at a time"};
  if (!options.client.empty() && !is_exchange_id(options.client))
    return Error{ErrorCode::InvalidArgument, "a client's name has letters, digits, '.', '_' and '-' only"};
  auto exchange_options = spool_exchange(options.directory);
  exchange_options.poll = options.poll;
  exchange_options.lease = options.lease;
  KERNELGEN_TRY(const auto exchange, FileExchange::open(std::move(exchange_options)).context("opening the spool"));
  return SpoolServer(benchmarker, exchange, options, check).run(stop);
}

}  // namespace v0
}  // namespace kernelgen
