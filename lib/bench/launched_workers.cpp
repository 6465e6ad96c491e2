#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <kernelgen/bench/launched_workers.hpp>
#include <kernelgen/bench/spool.hpp>
#include <kernelgen/bench/worker.hpp>

#include "bench/profiling.hpp"
#include "bench/spool.hpp"
#include "bench/spool_heartbeat.hpp"
#include "exec/child.hpp"
#include "exec/launch.hpp"
#include "support/command_text.hpp"
#include "support/files.hpp"
#include "support/memory_log.hpp"
#include "support/sleep.hpp"
#include "support/socket.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int k_max_workers = 1024;
/// The workers are given up once each ended so many times since the last answer.
constexpr int k_max_failures = 3;
/// Time for a worker to see that its client is gone, and to give back its requests. Only then a signal is sent: srun
/// passes SIGTERM on as SIGKILL, and ssh passes on none.
constexpr milliseconds k_end_patience{10'000};
constexpr milliseconds k_signal_patience{5'000};
constexpr std::size_t k_max_shown_prefix = 60;
constexpr std::size_t k_max_shown_line = 300;

/// One of the workers: the same command again, whenever it ends.
struct LaunchedWorker {
  /// "worker 3 (srun -n1)".
  std::string name;
  std::vector<std::string> command;
  /// Ends since the last answer of any worker.
  std::atomic<int> failures = 0;
};

class LaunchedWorkers final : public Benchmarker, public ProfilingBenchmarker {
 public:
  LaunchedWorkers(LaunchedWorkersOptions options, FileExchange exchange, std::unique_ptr<Benchmarker> spool)
      : options_(std::move(options)), exchange_(std::move(exchange)), spool_(std::move(spool)) {}
  LaunchedWorkers(const LaunchedWorkers&) = delete;
  LaunchedWorkers& operator=(const LaunchedWorkers&) = delete;
  ~LaunchedWorkers() override {
    heartbeat_.reset();
    end_.request_stop();
    threads_.clear();
  }

  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    return ask<EvaluationRecord>(
        stop, [&](const std::stop_token& until) { return spool_->evaluate(request, progress, until); });
  }

  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    return ask<TaskDescription>(stop,
                                [&](const std::stop_token& until) { return spool_->describe(task, options, until); });
  }

  Result<Profile> profile(const RemoteProfileRequest& request, std::stop_token stop) override {
    auto& spool = dynamic_cast<ProfilingBenchmarker&>(*spool_);
    return ask<Profile>(stop, [&](const std::stop_token& until) { return spool.profile(request, until); });
  }

 private:
  template <class Answer, class Ask>
  Result<Answer> ask(const std::stop_token& stop, const Ask& ask_spool) {
    KERNELGEN_CHECK(ensure_started());
    std::stop_source until;
    const auto end = [&until] { until.request_stop(); };
    const std::stop_callback stopped(stop, end);
    const std::stop_callback given_up(given_up_.get_token(), end);
    auto answer = ask_spool(until.get_token());
    if (answer) {
      for (auto& worker : workers_) worker->failures = 0;
      return answer;
    }
    const std::scoped_lock lock(mutex_);
    return failure_ && answer.error().code == ErrorCode::Cancelled ? Result<Answer>(*failure_) : std::move(answer);
  }

  Result<void> ensure_started() {
    const std::scoped_lock lock(start_mutex_);
    if (heartbeat_ != nullptr) return {};
    KERNELGEN_TRY(heartbeat_, ClientHeartbeat::begin(options_.directory, options_.lease));
    for (const auto& launch : options_.launches)
      for (int i = 0; i < launch.count; ++i) workers_.push_back(make_worker(launch, workers_.size() + 1));
    for (const auto& worker : workers_)
      threads_.emplace_back([this, &worker = *worker] { keep_running(worker, end_.get_token()); });
    return {};
  }

  [[nodiscard]] std::unique_ptr<LaunchedWorker> make_worker(const WorkerLaunch& launch, std::size_t number) const {
    auto worker = std::make_unique<LaunchedWorker>();
    const auto prefix = fmt::format("{}", fmt::join(launch.prefix, " "));
    worker->name =
        fmt::format("worker {} ({})", number, prefix.empty() ? "here" : sanitize_line(prefix, k_max_shown_prefix));
    std::vector<std::string> command{options_.installation.worker.string(), "worker",   "--spool",
                                     options_.directory.string(),           "--client", heartbeat_->name()};
    const auto add = [&](const char* flag, const std::string& value) {
      if (!value.empty()) command.insert(command.end(), {flag, value});
    };
    if (options_.lease != SpoolWorkerOptions{}.lease)
      add("--lease", fmt::format("{}", std::chrono::duration<double>(options_.lease).count()));
    add("--python", options_.python);
    add("--cache-dir", options_.cache_dir);
    // The user's configuration file could change what it serves.
    add("--config", "/dev/null");
    worker->command = launch_command(launch.prefix, command);
    return worker;
  }

  /// Runs one worker until it is told to stop. The thread lives as long as the worker: when this process is killed, the
  /// kernel ends the command that the thread started.
  void keep_running(LaunchedWorker& worker, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto how = run_once(worker, stop);
      // If the worker ran on this machine, its end is certain, and its requests are given back now. Elsewhere it may go
      // on without the command that started it, so the leases of its requests decide.
      [[maybe_unused]] const auto released = release_ended_workers(exchange_);
      if (stop.stop_requested()) return;
      const int failures = ++worker.failures;
      auto pause = options_.first_pause;
      for (int i = 1; i < failures && pause < options_.longest_pause; ++i) pause *= 2;
      pause = std::min(pause, options_.longest_pause);
      if (give_up_if_hopeless(worker, how)) return;
      note(fmt::format("{} ended ({}); it is started again in {:.0f} s", worker.name, how,
                       std::chrono::duration<double>(pause).count()));
      sleep_for(pause, stop);
    }
  }

  /// Starts the worker and waits for its end. Returns how it ended: "exit 1: no such partition".
  static std::string run_once(const LaunchedWorker& worker, const std::stop_token& stop) {
    const auto log = MemoryLog::create();
    if (!log) return log.error().to_line();
    auto process = ChildProcess::spawn({.command = worker.command, .environment = launch_environment()},
                                       {{log->fd(), STDOUT_FILENO}, {log->fd(), STDERR_FILENO}});
    if (!process) return process.error().to_line();
    constexpr milliseconds k_poll_without_pidfd{500};
    std::optional<ExitStatus> status;
    while (!status && !stop.stop_requested()) {
      if (const auto fd = process->pidfd()) [[maybe_unused]]
        const auto ended = wait_readable(*fd, k_forever, stop);
      else
        sleep_for(k_poll_without_pidfd, stop);
      status = process->poll_exit();
    }
    if (!status) status = process->wait(steady_clock::now() + k_end_patience);
    if (!status) status = process->terminate(k_signal_patience);
    const auto words = sanitize_line(log->last_line(), k_max_shown_line);
    return (status ? status->to_line() : std::string("still running")) + (words.empty() ? "" : ": " + words);
  }

  /// True if there is no hope that a worker serves the directory: waiting would have no end.
  bool give_up_if_hopeless(const LaunchedWorker& last, const std::string& how) {
    const auto is_hopeless = [](const auto& worker) { return worker->failures >= k_max_failures; };
    if (!std::all_of(workers_.begin(), workers_.end(), is_hopeless)) return false;
    const auto others = read_heartbeats(options_.directory);
    const auto is_alive = [&](const auto& other) { return other.worker.silent <= options_.lease; };
    if (others && std::any_of(others->begin(), others->end(), is_alive)) return false;
    {
      const std::scoped_lock lock(mutex_);
      if (failure_) return true;
      failure_ =
          Error{ErrorCode::Unavailable,
                fmt::format("no worker can be started: each of {} ended {} times without an answer, the last one "
                            "was {}: {}",
                            workers_.size(), k_max_failures, last.name, how)};
    }
    given_up_.request_stop();
    end_.request_stop();
    if (options_.on_failure) options_.on_failure(*failure_);
    return true;
  }

  void note(const std::string& line) {
    const std::scoped_lock lock(note_mutex_);
    if (options_.on_note) options_.on_note(line);
  }

  const LaunchedWorkersOptions options_;
  const FileExchange exchange_;
  const std::unique_ptr<Benchmarker> spool_;
  std::mutex start_mutex_;
  std::unique_ptr<ClientHeartbeat> heartbeat_;
  std::vector<std::unique_ptr<LaunchedWorker>> workers_;
  /// Ends the workers.
  std::stop_source end_;
  /// Ends what waits for them.
  std::stop_source given_up_;
  std::mutex mutex_;
  /// Why the workers were given up.
  std::optional<Error> failure_;
  std::mutex note_mutex_;
  std::vector<std::jthread> threads_;
};

/// "8" of "8" or "8x".
std::optional<std::int64_t> read_count(std::string_view word) {
  if (word.empty() || word.find_first_not_of("0123456789") != word.npos) return std::nullopt;
  constexpr std::int64_t k_too_many = k_max_workers + 1;
  std::int64_t count = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), count);
  return read.ec == std::errc() ? count : k_too_many;
}

Result<void> check_launches(const std::vector<WorkerLaunch>& launches) {
  std::int64_t count = 0;
  for (const auto& launch : launches) {
    if (launch.count < 1) return Error{ErrorCode::InvalidArgument, "the number of workers must be at least 1"};
    count += launch.count;
    if (!launch.prefix.empty())
      KERNELGEN_CHECK(find_program(launch.prefix.front(), launch_environment()).context("starting a worker"));
  }
  if (count < 1 || count > k_max_workers)
    return Error{ErrorCode::InvalidArgument, fmt::format("between 1 and {} workers can be started", k_max_workers)};
  return {};
}

}  // namespace

Result<WorkerLaunch> parse_worker_launch(std::string_view text) {
  KERNELGEN_TRY(auto words, split_command(text));
  WorkerLaunch launch;
  if (!words.empty()) {
    const auto& first = words.front();
    const bool is_joined = first.size() > 1 && first.back() == 'x';
    const auto count = read_count(is_joined ? std::string_view(first).substr(0, first.size() - 1) : first);
    const bool is_apart = !is_joined && words.size() > 1 && words[1] == "x";
    if (count && (is_joined || is_apart)) {
      if (*count < 1 || *count > k_max_workers)
        return Error{ErrorCode::InvalidArgument, fmt::format("expected 1 to {} workers, not {}", k_max_workers, first)};
      launch.count = static_cast<int>(*count);
      words.erase(words.begin(), words.begin() + (is_joined ? 1 : 2));
    }
  }
  if (words.empty())
    return Error{ErrorCode::InvalidArgument,
                 "expected a command that starts a worker, such as \"ssh node1\" or \"8 x srun -n1 --gres=gpu:1\""};
  launch.prefix = std::move(words);
  return launch;
}

Result<std::unique_ptr<Benchmarker>> make_launched_workers(LaunchedWorkersOptions options) {
  if (options.installation.worker.empty())
    return Error{ErrorCode::InvalidArgument, "no worker: use find_installation() or installation_at()"};
  if (options.lease.count() <= 0 || options.first_pause.count() <= 0)
    return Error{ErrorCode::InvalidArgument, "lease and pauses take at least a millisecond"};
  KERNELGEN_CHECK(check_launches(options.launches));
  KERNELGEN_TRY(auto spool, make_spool_benchmarker({.directory = options.directory}));
  // Workers may be started in another directory.
  options.directory = std::filesystem::absolute(options.directory).lexically_normal();
  KERNELGEN_TRY(auto exchange, FileExchange::open(spool_exchange(options.directory)));
  return std::unique_ptr<Benchmarker>(
      std::make_unique<LaunchedWorkers>(std::move(options), std::move(exchange), std::move(spool)));
}

}  // namespace v0
}  // namespace kernelgen
