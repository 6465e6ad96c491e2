#include <kernelgen/bench/worker.hpp>

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <map>
#include <mutex>
#include <new>
#include <thread>

#include <kernelgen/core/version.hpp>

#include "bench/evaluator.hpp"
#include "bench/protocol.hpp"
#include "bench/spool.hpp"
#include "bench/worker_service.hpp"
#include "support/errno_error.hpp"
#include "support/sleep.hpp"
#include "support/socket.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

/// Calls write(2) without raising SIGPIPE in the process, whatever kind of file the descriptor is.
ssize_t write_quietly(int fd, std::string_view bytes) {
  const auto sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  sigset_t pipe_signal, before;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  const auto written = ::write(fd, bytes.data(), bytes.size());
  const int error = errno;
  if (written < 0 && error == EPIPE) {
    // The signal is pending for this thread only. Taking it here keeps it from handlers of the program.
    const timespec none{};
    while (sigtimedwait(&pipe_signal, nullptr, &none) < 0 && errno == EINTR) {
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

/// The id that a message answers, if any.
std::optional<RequestId> answered_id(const Message& message) {
  if (const auto* record = std::get_if<RecordMessage>(&message)) return record->id;
  if (const auto* description = std::get_if<DescriptionMessage>(&message)) return description->id;
  if (const auto* profiled = std::get_if<ProfiledMessage>(&message)) return profiled->id;
  return std::nullopt;
}

/// The frame of a message, or of an error if the message is too large, so that every request gets an answer.
Result<std::string> encode_safely(const Message& message) {
  const auto error_frame = [&](Error error) {
    return encode_message(ErrorMessage{answered_id(message), std::move(error)});
  };
  try {
    auto frame = encode_message(message);
    return frame ? std::move(frame) : error_frame(std::move(frame).error());
  } catch (const std::bad_alloc&) {
    return error_frame({ErrorCode::OutOfMemory, "no memory for the answer"});
  }
}

/// Sends a message. Errors of writing are ignored, because the reading thread notices a closed connection.
void send_message(int fd, const Message& message) {
  const auto frame = encode_safely(message);
  if (!frame) return;
  std::string_view rest = *frame;
  while (!rest.empty()) {
    const auto count = write_quietly(fd, rest);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// The connection with one client. The calling thread reads.
class Service {
 public:
  Service(LocalBenchmarker& benchmarker, int input_fd, int output_fd)
      : benchmarker_(benchmarker), input_fd_(input_fd), output_fd_(output_fd) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Result<void> run(const std::stop_token& stop) {
    send(HelloMessage{.kernelgen_version = std::string(version()), .device = benchmarker_.device(), .pid = ::getpid()});
    auto served = read_messages(stop);
    for (auto& [id, job] : jobs_) job.request_stop();
    jobs_.clear();
    return served;
  }

 private:
  Result<void> read_messages(const std::stop_token& stop) {
    std::array<char, 64 * 1024> buffer;
    while (true) {
      auto readable = wait_readable(input_fd_, k_forever, stop);
      // A stop request is the normal end of a worker.
      if (!readable)
        return readable.error().code == ErrorCode::Cancelled ? Result<void>() : std::move(readable).error();
      const auto count = ::read(input_fd_, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno != ECONNRESET) return errno_error(errno, "cannot read from the client");
      if (count <= 0)
        return decoder_.has_partial_message()
                   ? Result<void>(Error{ErrorCode::Protocol, "the client ended within a message"})
                   : Result<void>();
      decoder_.feed({buffer.data(), static_cast<std::size_t>(count)});
      KERNELGEN_TRY(const auto state, handle_messages());
      if (state == State::Ended) return {};
    }
  }

  enum class State { Going, Ended };

  Result<State> handle_messages() {
    while (true) {
      auto message = decoder_.next();
      if (!message) {
        send(ErrorMessage{decoder_.failed_id(), message.error()});
        if (decoder_.is_lost()) return std::move(message).error();
        continue;
      }
      if (!*message) return State::Going;
      if (std::holds_alternative<ShutdownMessage>(**message)) return State::Ended;
      handle(**std::move(message));
    }
  }

  void handle(Message message) {
    if (auto* evaluate = std::get_if<EvaluateMessage>(&message)) {
      start(evaluate->id,
            [this, asked = std::move(*evaluate), id = evaluate->id](const std::stop_token& stop) -> Message {
              const auto progress = [&](const EvaluationProgress& now) { send(ProgressMessage{id, now}); };
              return answer_to<RecordMessage>(
                  id, asked.prebuilt ? benchmarker_.evaluate_prebuilt(asked.request, *asked.prebuilt, progress, stop)
                                     : benchmarker_.evaluate(asked.request, progress, stop));
            });
    } else if (auto* describe = std::get_if<DescribeMessage>(&message)) {
      start(describe->id, [this, asked = std::move(*describe)](const std::stop_token& stop) -> Message {
        return answer_to<DescriptionMessage>(asked.id, benchmarker_.describe(asked.task, asked.options, stop));
      });
    } else if (auto* profile = std::get_if<ProfileMessage>(&message)) {
      start(profile->id, [this, asked = std::move(*profile)](const std::stop_token& stop) -> Message {
        return answer_to<ProfiledMessage>(asked.id, benchmarker_.profile(asked.request, stop));
      });
    } else if (auto* cancel = std::get_if<CancelMessage>(&message)) {
      if (const auto job = jobs_.find(cancel->id); job != jobs_.end()) job->second.request_stop();
    } else if (auto* ping = std::get_if<PingMessage>(&message)) {
      send(PongMessage{ping->id});
    } else if (auto* unknown = std::get_if<UnknownMessage>(&message)) {
      send(ErrorMessage{unknown->id, {ErrorCode::Unsupported, "this worker does not know \"" + unknown->type + "\""}});
    }
  }

  template <class Work>
  void start(RequestId id, Work work) {
    join_finished();
    if (jobs_.contains(id))
      return send(ErrorMessage{id, {ErrorCode::InvalidArgument, fmt::format("request {} is still running", id)}});
    jobs_.emplace(id, std::jthread([this, id, work = std::move(work)](const std::stop_token& stop) {
                    const auto answer = answer_safely(id, [&] { return work(stop); });
                    mark_finished(id);
                    send(answer);
                  }));
  }

  /// Answers a request. No request may end the worker, not even by exhausting memory.
  template <class Work>
  static Message answer_safely(RequestId id, const Work& work) try {
    return work();
  } catch (const std::exception& error) {
    return ErrorMessage{id, {ErrorCode::Internal, fmt::format("judging failed: {}", error.what())}};
  }

  /// Removes a request. This is done before the answer is sent, because then the client may use the id again.
  void mark_finished(RequestId id) {
    const std::scoped_lock lock(mutex_);
    finished_.push_back(id);
  }

  void join_finished() {
    std::vector<RequestId> finished;
    {
      const std::scoped_lock lock(mutex_);
      finished.swap(finished_);
    }
    for (const auto id : finished) jobs_.erase(id);
  }

  void send(const Message& message) {
    const std::scoped_lock lock(output_mutex_);
    send_message(output_fd_, message);
  }

  LocalBenchmarker& benchmarker_;
  const int input_fd_;
  const int output_fd_;
  MessageDecoder decoder_;
  std::mutex output_mutex_;
  std::mutex mutex_;
  std::vector<RequestId> finished_;
  std::map<RequestId, std::jthread> jobs_;
};

/// Makes this process the parent of orphaned runners, so that it can kill and reap them.
Result<void> become_subreaper() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return errno_error(errno, "cannot become a child subreaper");
}

}  // namespace

Result<void> serve_client(LocalBenchmarker& benchmarker, int input_fd, int output_fd, const std::stop_token& stop) {
  return Service(benchmarker, input_fd, output_fd).run(stop);
}

Result<void> run_worker(const WorkerOptions& options, int input_fd, int output_fd, std::stop_token stop) {
  KERNELGEN_CHECK(become_subreaper());
  auto benchmarker = make_local_benchmarker(options);
  if (!benchmarker) {
    send_message(output_fd, ErrorMessage{.error = benchmarker.error()});
    return std::move(benchmarker).error();
  }
  return serve_client(**benchmarker, input_fd, output_fd, stop);
}

Result<void> run_spool_worker(const WorkerOptions& options, const SpoolWorkerOptions& spool, std::stop_token stop) {
  KERNELGEN_CHECK(become_subreaper());
  KERNELGEN_TRY(const auto benchmarker, make_local_benchmarker(options));
  auto with_jobs = spool;
  // Where the GPUs cannot be counted, each request reports the reason.
  if (!spool.jobs) {
    const auto gpus = benchmarker->count_gpus(stop);
    with_jobs.jobs = k_jobs_per_device * std::max(1, gpus ? *gpus : 0);
  }
  return serve_spool(*benchmarker, with_jobs, stop,
                     [&](const std::stop_token& cancelled) { return benchmarker->check_readiness(cancelled); });
}

}  // namespace v0
}  // namespace kernelgen
