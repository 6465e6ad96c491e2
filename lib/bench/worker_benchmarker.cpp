#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include <kernelgen/bench/benchmarker.hpp>

#include "bench/library_use.hpp"
#include "bench/protocol.hpp"
#include "exec/child.hpp"
#include "exec/launch.hpp"
#include "support/memory_log.hpp"
#include "support/sleep.hpp"
#include "support/socket.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using std::chrono::milliseconds;

/// Time limit for the hello of a worker, which may be started through ssh or a scheduler.
constexpr milliseconds k_hello_timeout{600'000};
/// Time limit for the answer to a cancelled request, after which the worker is ended.
constexpr milliseconds k_cancel_patience{5'000};

/// A connection to a running worker, and the requests that wait for it. It is replaced once the worker has ended.
class Connection {
 public:
  Connection(ChildProcess process, UniqueFd socket, MemoryLog log)
      : process_(std::move(process)), socket_(std::move(socket)), log_(std::move(log)) {
    reader_ = std::jthread([this](const std::stop_token& stop) { read(stop); });
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    reader_.request_stop();
    if (reader_.joinable()) reader_.join();
    // The worker finishes at the end of its input; the destructor of the process makes sure.
    socket_.reset();
    [[maybe_unused]] const auto ended = process_.wait(std::chrono::steady_clock::now() + k_cancel_patience);
  }

  [[nodiscard]] bool broken() {
    const std::scoped_lock lock(mutex_);
    return broken_.has_value();
  }

  Result<void> wait_hello(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, stop, k_hello_timeout, [&] { return hello_ || broken_; }))
      return Error{stop.stop_requested() ? ErrorCode::Cancelled : ErrorCode::Timeout, "the worker does not answer"};
    return broken_ ? Result<void>(*broken_) : Result<void>();
  }

  Result<void> send(const Message& message) {
    KERNELGEN_TRY(auto frame, encode_message(message));
    const std::scoped_lock lock(send_mutex_);
    std::string_view rest = frame;
    while (!rest.empty()) {
      const auto count = send_with_fds(socket_.get(), rest, {});
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return Error{ErrorCode::Unavailable, "the worker is gone"};
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
    return {};
  }

  /// The next message for a request, in the order in which the worker sent them.
  Result<Message> receive(RequestId id, const std::stop_token& stop, milliseconds timeout) {
    std::unique_lock lock(mutex_);
    const bool there = changed_.wait_for(lock, stop, timeout, [&] { return !inbox_[id].empty() || broken_; });
    auto& queue = inbox_[id];
    if (!queue.empty()) {
      auto message = std::move(queue.front());
      queue.pop_front();
      return message;
    }
    if (broken_) return *broken_;
    return Error{there || !stop.stop_requested() ? ErrorCode::Timeout : ErrorCode::Cancelled, "no answer"};
  }

  void forget(RequestId id) {
    const std::scoped_lock lock(mutex_);
    inbox_.erase(id);
  }

  /// Ends a worker that ignores a cancellation.
  void kill() {
    const std::scoped_lock lock(process_mutex_);
    process_.kill_group();
  }

 private:
  void read(const std::stop_token& stop) {
    MessageDecoder decoder;
    std::array<char, 64 * 1024> buffer;
    while (true) {
      const auto readable = wait_readable(socket_.get(), k_forever, stop);
      if (!readable) return;
      const auto count = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return fail(ended());
      decoder.feed({buffer.data(), static_cast<std::size_t>(count)});
      while (true) {
        auto message = decoder.next();
        if (!message) {
          auto error = std::move(message).context("reading from the worker").error();
          // A message that cannot be matched with a request may be the answer that one of them waits for.
          if (decoder.is_lost() || !decoder.failed_id()) return fail(std::move(error));
          deliver(ErrorMessage{decoder.failed_id(), std::move(error)});
          continue;
        }
        if (!*message) break;
        deliver(**std::move(message));
      }
    }
  }

  Error ended() {
    const std::scoped_lock lock(process_mutex_);
    const auto status = process_.wait(std::chrono::steady_clock::now() + k_cancel_patience);
    const auto words = log_.last_line();
    return {ErrorCode::Unavailable,
            fmt::format("the worker ended ({}){}{}", status ? status->to_line() : "still running",
                        words.empty() ? "" : ": ", words)};
  }

  void fail(Error error) {
    const std::scoped_lock lock(mutex_);
    // Only the first error is kept: the end of the stream follows from it.
    if (!broken_) broken_ = std::move(error);
    changed_.notify_all();
  }

  void deliver(Message message) {
    if (auto* error = std::get_if<ErrorMessage>(&message); error != nullptr && !error->id)
      return fail(std::move(error->error));
    const auto id = std::visit(
        [](const auto& any) -> std::optional<RequestId> {
          if constexpr (requires { RequestId{any.id}; }) return any.id;
          if constexpr (requires { any.id.value(); }) return any.id;
          return std::nullopt;
        },
        message);
    const std::scoped_lock lock(mutex_);
    if (std::holds_alternative<HelloMessage>(message)) hello_ = true;
    if (id) inbox_[*id].push_back(std::move(message));
    changed_.notify_all();
  }

  std::mutex process_mutex_;
  ChildProcess process_;
  UniqueFd socket_;
  MemoryLog log_;
  std::mutex send_mutex_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool hello_ = false;
  std::optional<Error> broken_;
  std::map<RequestId, std::deque<Message>> inbox_;
  std::jthread reader_;
};

class WorkerBenchmarker final : public Benchmarker, public ProfilingBenchmarker {
 public:
  explicit WorkerBenchmarker(WorkerBenchmarkerOptions options) : options_(std::move(options)) {}

  Result<EvaluationRecord> evaluate(const EvaluationRequest& request, const ProgressCallback& progress,
                                    std::stop_token stop) override {
    if (progress && !options_.compilers.empty()) progress({"compile", ""});
    KERNELGEN_TRY(const auto prebuilt, build_on_client(options_.compilers, request, stop));
    KERNELGEN_TRY(auto answer, ask(
                                   [&](RequestId id) {
                                     return Message(EvaluateMessage{id, request, prebuilt});
                                   },
                                   progress, stop));
    if (auto* record = std::get_if<RecordMessage>(&answer)) {
      KERNELGEN_CHECK(require_work(record->record, request.options.library_use));
      return std::move(record->record);
    }
    return unexpected(std::move(answer));
  }

  Result<TaskDescription> describe(const TaskSource& task, const EvaluationOptions& options,
                                   std::stop_token stop) override {
    KERNELGEN_TRY(auto answer, ask(
                                   [&](RequestId id) {
                                     return Message(DescribeMessage{id, task, options});
                                   },
                                   {}, stop));
    if (auto* description = std::get_if<DescriptionMessage>(&answer)) return std::move(description->description);
    return unexpected(std::move(answer));
  }

  Result<Profile> profile(const RemoteProfileRequest& request, std::stop_token stop) override {
    KERNELGEN_TRY(auto answer, ask([&](RequestId id) { return Message(ProfileMessage{id, request}); }, {}, stop));
    if (auto* profiled = std::get_if<ProfiledMessage>(&answer)) return std::move(profiled->profile);
    return unexpected(std::move(answer));
  }

 private:
  static Error unexpected(Message answer) {
    if (auto* error = std::get_if<ErrorMessage>(&answer)) return std::move(error->error);
    return {ErrorCode::Protocol, fmt::format("the worker answered with \"{}\"", type_of(answer))};
  }

  template <class MakeMessage>
  Result<Message> ask(MakeMessage make_message, const ProgressCallback& progress, const std::stop_token& stop) {
    KERNELGEN_TRY(auto connection, connect(stop));
    const auto id = next_id();
    KERNELGEN_CHECK(connection->send(make_message(id)));
    auto answer = await(*connection, id, progress, stop);
    connection->forget(id);
    return answer;
  }

  static Result<Message> await(Connection& connection, RequestId id, const ProgressCallback& progress,
                               const std::stop_token& stop) {
    while (true) {
      auto message = connection.receive(id, stop, k_forever);
      if (!message && message.error().code == ErrorCode::Cancelled) {
        // The worker gets a moment to stop, so that the device is free when this returns.
        [[maybe_unused]] const auto told = connection.send(CancelMessage{id});
        while (true) {
          auto last = connection.receive(id, {}, k_cancel_patience);
          if (last && std::holds_alternative<ProgressMessage>(*last)) continue;
          if (!last && last.error().code == ErrorCode::Timeout) connection.kill();
          return Error{ErrorCode::Cancelled, "cancelled"};
        }
      }
      if (!message) return message;
      if (auto* now = std::get_if<ProgressMessage>(&*message)) {
        if (progress) progress(now->progress);
        continue;
      }
      return message;
    }
  }

  RequestId next_id() {
    const std::scoped_lock lock(mutex_);
    return next_id_++;
  }

  /// The connection to the running worker, or to a new one if there is none or it died. A shared pointer, so that a
  /// request can finish on a connection that was replaced.
  Result<std::shared_ptr<Connection>> connect(const std::stop_token& stop) {
    std::shared_ptr<Connection> connection;
    {
      const std::scoped_lock lock(mutex_);
      if (!connection_ || connection_->broken()) {
        KERNELGEN_TRY(connection_, start());
      }
      connection = connection_;
    }
    KERNELGEN_CHECK(connection->wait_hello(stop));
    return connection;
  }

  Result<std::shared_ptr<Connection>> start() const {
    KERNELGEN_TRY(auto sockets, make_stream_pair());
    KERNELGEN_TRY(auto log, MemoryLog::create());
    std::vector<std::string> command{options_.installation.worker.string(), "worker"};
    const auto add = [&](const char* flag, const std::string& value) {
      if (!value.empty()) command.insert(command.end(), {flag, value});
    };
    add("--python", options_.python);
    add("--cache-dir", options_.cache_dir);
    // The worker must not read the user's configuration file, which could change its mode.
    add("--config", "/dev/null");
    ChildRequest request;
    request.command = launch_command(options_.launch_prefix, command);
    request.environment = launch_environment();
    // The worker ends when its input does.
    request.parent_death = ParentDeath::Ignore;
    KERNELGEN_TRY(auto process, ChildProcess::spawn(request, {{sockets.theirs.get(), STDIN_FILENO},
                                                              {sockets.theirs.get(), STDOUT_FILENO},
                                                              {log.fd(), STDERR_FILENO}}));
    return std::make_shared<Connection>(std::move(process), std::move(sockets.ours), std::move(log));
  }

  WorkerBenchmarkerOptions options_;
  std::mutex mutex_;
  RequestId next_id_ = 1;
  std::shared_ptr<Connection> connection_;
};

}  // namespace

Result<std::unique_ptr<Benchmarker>> make_worker_benchmarker(WorkerBenchmarkerOptions options) {
  if (options.installation.worker.empty())
    return Error{ErrorCode::InvalidArgument, "no worker: use find_installation() or installation_at()"};
  return std::unique_ptr<Benchmarker>(std::make_unique<WorkerBenchmarker>(std::move(options)));
}

}  // namespace v0
}  // namespace kernelgen
