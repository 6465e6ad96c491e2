#include "bench/runner_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include <kernelgen/platform/platform.hpp>

#include "bench/build_clock.hpp"
#include "bench/library_use.hpp"
#include "bench/output_reader.hpp"
#include "bench/process_tree.hpp"
#include "bench/processor_sampler.hpp"
#include "device/memory_group.hpp"
#include "device/processors.hpp"
#include "exec/sandbox.hpp"
#include "runner/runner_protocol.h"
#include "support/errno_error.hpp"
#include "support/socket.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// A supervisor reports the end of its runner at once; after a longer wait it must have ended, too.
constexpr milliseconds k_death_patience{2000};
constexpr milliseconds k_destroy_patience{5000};
/// Freeing outputs below this size takes less time than a call's clock can resolve.
constexpr std::uint64_t k_min_freed_bytes = 1u << 20;
/// Memory of a candidate beside its limit: its compilers' and its temporary files; with a device, its driver's as well.
constexpr std::uint64_t k_build_memory = std::uint64_t{1} << 30;
constexpr std::uint64_t k_device_memory = std::uint64_t{4} << 30;
constexpr const char* k_out_of_memory = "its processes and its files in memory together took more than the limit";
/// Interval for polling the processes of a candidate that may be building.
constexpr milliseconds k_helper_interval{200};
/// The time in which calls are repeated while the worker samples the processor: some 200 samples. On a busy machine it
/// is repeated, for longer.
constexpr std::chrono::nanoseconds k_first_examined_time = milliseconds(50);
constexpr std::chrono::nanoseconds k_last_examined_time = milliseconds(800);
constexpr std::size_t k_enough_activities = 20;

std::int64_t nanoseconds_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

/// The addresses of a RUN's outputs from the reply's text; nothing if their number is wrong.
std::vector<std::uint64_t> addresses_in(const kgen_reply& reply) {
  const auto count = std::min<std::uint64_t>(reply.arg[2], KGEN_MAX_OUTPUTS_IN_PLACE);
  if (count != reply.arg[2] || reply.text_length != count * sizeof(std::uint64_t)) return {};
  std::vector<std::uint64_t> addresses(count);
  if (count > 0) std::memcpy(addresses.data(), reply.text, count * sizeof(std::uint64_t));
  return addresses;
}

ExaminedCall unseen(std::string reason) {
  ExaminedCall call;
  call.unavailable = std::move(reason);
  return call;
}

class SandboxedRunner final : public RunnerProcess {
 public:
  SandboxedRunner(RunnerConnection connection, std::unique_ptr<BuildCache> builds)
      : connection_(std::move(connection)), builds_(std::move(builds)) {}
  SandboxedRunner(const SandboxedRunner&) = delete;
  SandboxedRunner& operator=(const SandboxedRunner&) = delete;
  ~SandboxedRunner() override { end(); }

  Result<void> wait_ready(milliseconds timeout) override {
    const auto answer = receive(KGEN_OP_HELLO, 0, Clock::now() + timeout);
    if (const auto* death = std::get_if<RunnerDeath>(&answer))
      return Error{ErrorCode::Unavailable, fmt::format("a runner did not start: {}",
                                                       death->timed_out   ? "no answer in time"
                                                       : death->signal    ? fmt::format("signal {}", *death->signal)
                                                       : death->exit_code ? fmt::format("exit {}", *death->exit_code)
                                                                          : "its connection closed")};
    const auto& hello = std::get<RunnerReply>(answer);
    if (hello.status == RunnerStatus::OutOfMemory)
      return Error{
          ErrorCode::OutOfMemory,
          fmt::format("a runner cannot use its device: {}; end what else uses it ({} lists it), or choose another "
                      "GPU",
                      hello.text, process_programs())};
    if (hello.status != RunnerStatus::Ok)
      return Error{ErrorCode::MissingDevice, fmt::format("a runner cannot use its device: {}", hello.text)};
    isolation_ = describe_isolation(hello.arg[1]);
    is_watched_ = (hello.arg[1] & KGEN_ISOLATION_SEAL) != 0;
    is_other_user_ = (hello.arg[1] & KGEN_ISOLATION_OTHER_USER) != 0;
    // The candidate could find this process otherwise. The judge and the zygotes are closed to others in any case.
    if ((hello.arg[1] & KGEN_ISOLATION_PID) == 0) ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    open_runner(Clock::now() + timeout);
    readable_ = runner_.valid() && hello.arg[3] != 0 && holds_probe_word(hello.arg[3]);
    return {};
  }

  void cancel_with(std::stop_token stop) override { stop_ = std::move(stop); }

  bool alive() override {
    // The unread HELLO keeps the connection readable; only the end of a closed one reads as zero bytes.
    char byte = 0;
    const auto count = ::recv(connection_.control.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return !dead_ && (count > 0 || (count < 0 && errno == EAGAIN));
  }

  RunnerAnswer open(const RunnerJob& job, milliseconds timeout) override {
    std::vector<int> fds{job.description_fd, job.exchange_fd};
    if (job.device_fd) fds.push_back(*job.device_fd);
    if (!job.device_fd && readable_ && job.slots * job.outputs.size() <= KGEN_MAX_OUTPUTS_IN_PLACE)
      if (auto reader = OutputReader::map(job)) reader_ = *std::move(reader);
    // Compilers of a Python candidate use all processors; see seal_after_call_of().
    processors_ = job.processors;
    spreads_threads_ = job.spreads_threads;
    on_device_ = job.device_fd.has_value();
    return ask(KGEN_OP_JOB, {}, {timeout}, fds);
  }
  RunnerAnswer rehearse(const CallSeries& series, CallMode mode, std::chrono::nanoseconds work,
                        milliseconds timeout) override {
    constexpr int k_rehearsal = 0;
    const auto waited = [&] { return waiting_time_of(runner_pid_) + waiting_time_of_this_thread(); };
    const auto before = waited();
    auto answer = ask_for_calls(k_rehearsal, static_cast<std::uint64_t>(work.count()),
                                run_flags(Allocations::Plain, mode), series, {timeout});
    if (auto* reply = std::get_if<RunnerReply>(&answer)) reply->waited_ns = (waited() - before).count();
    return answer;
  }
  RunnerAnswer load(const RunnerCode& code, const StepLimits& limits) override {
    restore_builds(code.builds_key);
    const std::uint64_t kind = code.kind == CodeKind::PythonSource ? KGEN_CODE_PYTHON : KGEN_CODE_SHARED_OBJECT;
    if (code.kind == CodeKind::SharedObject) bind();
    limit_memory(code.memory_limit);
    return ask(KGEN_OP_LOAD, {kind, code.memory_limit}, limits, std::array<int, 1>{code.fd});
  }
  RunnerAnswer build(const BuildJob& job, const StepLimits& limits) override {
    if (builds_) builds_->start(job.builds_key);
    limit_memory(job.memory_limit);
    return ask(KGEN_OP_BUILD, {job.memory_limit}, limits, std::array<int, 2>{job.description_fd, job.code_fd});
  }
  RunnerAnswer compile_for(const CompileForJob& job, const StepLimits& limits) override {
    restore_builds(job.builds_key);
    limit_memory(job.memory_limit);
    return ask(KGEN_OP_COMPILE_FOR, {job.memory_limit, job.list_bytes}, limits,
               std::array<int, 4>{job.description_fd, job.code_fd, job.facts_fd, job.list_fd});
  }
  RunnerAnswer construct(int set, const WeightDraw& draw, ConstantWeights constants,
                         const StepLimits& limits) override {
    auto answer = ask(KGEN_OP_CONSTRUCT,
                      {static_cast<std::uint64_t>(set), draw.seed, draw.transform,
                       std::uint64_t{constants == ConstantWeights::Everywhere}},
                      limits);
    const auto* reply = std::get_if<RunnerReply>(&answer);
    if (reply != nullptr && reply->status == RunnerStatus::Ok) uncalled_sets_.insert(set);
    return answer;
  }
  RunnerAnswer export_state(int set, int state_fd, std::uint64_t capacity, milliseconds timeout) override {
    return ask(KGEN_OP_EXPORT_STATE, {static_cast<std::uint64_t>(set), capacity}, {timeout},
               std::array<int, 1>{state_fd});
  }
  RunnerAnswer prepare(int set, milliseconds timeout) override {
    return ask(KGEN_OP_PREPARE, {static_cast<std::uint64_t>(set)}, {timeout});
  }
  RunnerAnswer run(int set, const PreparedCall& call, Allocations allocations, CallMode mode,
                   const StepLimits& limits) override {
    auto answer = ask_for_calls(set, call.forward_seed, run_flags(allocations, mode), call.series, limits);
    const auto* reply = std::get_if<RunnerReply>(&answer);
    if (reply == nullptr) return answer;
    if (reply->status == RunnerStatus::Ok && !seal_after_call_of(set)) return end_with({});
    // Stopping the runner does not stop processes that the candidate started.
    if (runner_pid_ > 0 && has_helpers(supervisor_, runner_pid_)) return end_with({.left_processes = true});
    if (!reader_ || reply->status != RunnerStatus::Ok || reply->arg[2] == 0) return answer;
    return fetch(std::move(answer), call.series, limits.call);
  }
  ExaminedCall examine(int set, std::uint64_t forward_seed, milliseconds timeout) override {
    ExaminedCall seen;
    for (auto time = k_first_examined_time; time <= k_last_examined_time; time *= 4) {
      auto now = examine_for(time, set, forward_seed, timeout);
      // Samples are few on a busy machine; all of them count.
      std::move(seen.activities.begin(), seen.activities.end(), std::back_inserter(now.activities));
      seen = std::move(now);
      if (on_device_ || !seen.unavailable.empty() || seen.activities.size() >= k_enough_activities) break;
    }
    return seen;
  }
  RunnerAnswer destroy(int set, milliseconds timeout) override {
    return ask(KGEN_OP_DESTROY, {static_cast<std::uint64_t>(set)}, {std::min(timeout, k_destroy_patience)});
  }

  std::int64_t take_overrun_ns() override {
    note_overrun();
    return std::exchange(overrun_ns_, 0);
  }
  std::string isolation() const override { return isolation_; }

 private:
  void restore_builds(const std::string& key) {
    if (builds_) builds_->restore(key, is_other_user_ ? KGEN_UNPRIVILEGED_USER : ::geteuid());
  }

  [[nodiscard]] std::uint64_t run_flags(Allocations allocations, CallMode mode) const {
    return (allocations == Allocations::Poisoned ? KGEN_RUN_POISON : 0) | (reader_ ? KGEN_RUN_IN_PLACE : 0) |
           (mode == CallMode::Graph ? KGEN_RUN_GRAPH : 0);
  }

  RunnerAnswer ask_for_calls(int set, std::uint64_t forward_seed, std::uint64_t flags, const CallSeries& series,
                             const StepLimits& limits) {
    return ask(KGEN_OP_RUN,
               {static_cast<std::uint64_t>(set), forward_seed, flags, static_cast<std::uint64_t>(series.slot),
                static_cast<std::uint64_t>(series.calls)},
               limits);
  }

  /// Processor time of all threads of the runner; 0 where it is unknown.
  [[nodiscard]] std::int64_t processor_ns() const {
    clockid_t clock{};
    timespec time{};
    if (runner_pid_ <= 0 || ::clock_getcpuclockid(runner_pid_, &clock) != 0 || ::clock_gettime(clock, &time) != 0)
      return 0;
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  void note_overrun() {
    const auto now_ns = processor_ns();
    overrun_ns_ += std::max<std::int64_t>(now_ns - processor_ns_at_reply_, 0);
    processor_ns_at_reply_ = now_ns;
  }

  RunnerAnswer ask(std::uint16_t op, std::initializer_list<std::uint64_t> arguments, const StepLimits& limits,
                   std::span<const int> fds = {}) {
    if (dead_) return *dead_;
    kgen_command command{KGEN_COMMAND_MAGIC, KGEN_RUNNER_PROTOCOL_VERSION, op, ++sequence_, {}};
    std::copy(arguments.begin(), arguments.end(), command.arg);
    std::optional<BuildClock> build_clock;
    if (limits.build > milliseconds::zero() && runner_pid_ > 0)
      build_clock.emplace(limits, processes_of(supervisor_, runner_pid_));
    note_overrun();
    const auto start = Clock::now();
    thaw();
    const std::string_view bytes(reinterpret_cast<const char*>(&command), sizeof command);
    // A failure to send shows as a closed connection below, together with the reason.
    [[maybe_unused]] const auto sent = send_with_fds(connection_.control.get(), bytes, fds);
    auto answer =
        build_clock ? receive_while_building(op, start, *build_clock) : receive(op, sequence_, start + limits.call);
    if (auto* reply = std::get_if<RunnerReply>(&answer)) {
      reply->host_ns = nanoseconds_since(start);
      processor_ns_at_reply_ = processor_ns();
      if (build_clock) reply->build_time = build_clock->build_time();
      freeze();
    }
    return answer;
  }

  ExaminedCall examine_for(std::chrono::nanoseconds time, int set, std::uint64_t forward_seed, milliseconds timeout) {
    if (!on_device_ && runner_pid_ > 0) {
      thaw();
      sampler_ = std::make_unique<ProcessorSampler>(runner_pid_);
    }
    const auto answer =
        ask(KGEN_OP_EXAMINE, {static_cast<std::uint64_t>(set), forward_seed, static_cast<std::uint64_t>(time.count())},
            {timeout});
    const auto sampler = std::move(sampler_);
    if (sampler) sampler->stop();
    const auto* reply = std::get_if<RunnerReply>(&answer);
    if (reply == nullptr) return unseen("its process ended, or did not answer in time");
    if (reply->status != RunnerStatus::Ok)
      return unseen(reply->text.empty() ? "the call failed" : sanitize_line(reply->text, 200));
    if (on_device_)
      return {.activities = parse_activities(reply->text),
              .call_ns = static_cast<double>(reply->arg[3]),
              .unavailable = ""};
    if (!sampler || !sampler->could_trace()) return unseen("the system does not let the worker trace");
    const auto calls = static_cast<double>(std::max<std::uint64_t>(reply->arg[0], 1));
    return {.activities =
                activities_of(sampler->samples(), read_code_mappings(runner_pid_), reply->start_ns, reply->end_ns),
            .call_ns = static_cast<double>(reply->end_ns - reply->start_ns) / calls,
            .unavailable = ""};
  }

  /// A Python candidate may start processes until each weight set has been called once, because compilers run there.
  /// The supervisor ends that, since what the runner itself would do for it is in the candidate's hands. False if the
  /// supervisor is gone.
  bool seal_after_call_of(int set) {
    if (uncalled_sets_.erase(set) == 0 || !uncalled_sets_.empty()) return true;
    bind();
    if (!is_watched_ || is_sealed_) return true;
    ::kill(supervisor_, KGEN_SEAL_SIGNAL);
    const auto deadline = Clock::now() + k_death_patience;
    while (!is_sealed_ && Clock::now() < deadline) {
      pollfd watched{connection_.status.get(), POLLIN, 0};
      if (::poll(&watched, 1, 100) > 0 && !read_status()) return false;
    }
    return is_sealed_;
  }

  /// Limits all processes of the candidate together, where the worker can. The runner limits its own address space as
  /// well, so that an allocation fails there before a process is killed here.
  void limit_memory(std::uint64_t bytes) {
    if (bytes == 0 || runner_pid_ <= 0) return;
    auto group = MemoryGroup::make(bytes + (on_device_ ? k_device_memory : k_build_memory));
    if (group && group->add(runner_pid_)) group_.emplace(*std::move(group));
  }

  [[nodiscard]] bool has_run_out() const { return group_ && group_->has_run_out(); }

  /// The system call filter lets no candidate undo this.
  void bind() const {
    if (processors_ > 0 && runner_pid_ > 0) bind_to_processors(runner_pid_, processors_);
  }

  /// Copies the outputs of a call from the stopped runner. Returns `answer` on success.
  RunnerAnswer fetch(RunnerAnswer answer, const CallSeries& series, milliseconds timeout) {
    const int error = frozen_ ? reader_->read(runner_pid_, series.slot, addresses_) : ESRCH;
    const auto reply_of = [](RunnerStatus status, std::string text) {
      return RunnerReply{.status = status, .text = std::move(text)};
    };
    // The process may have died, and another one may have its number.
    if (error == ESRCH || !signal_runner(0)) return end_with({});
    if (error == EFAULT) return reply_of(RunnerStatus::Interface, "its outputs are at addresses that cannot be read");
    if (error != 0) return reply_of(RunnerStatus::Protocol, fmt::format("its outputs: {}", std::strerror(error)));
    if (auto foreign = reader_->find_foreign_memory(runner_pid_, addresses_))
      return end_with({.has_foreign_memory = true, .text = *std::move(foreign)});
    if (static_cast<std::uint64_t>(series.calls) * reader_->bytes() < k_min_freed_bytes) return answer;
    // Any command makes the runner free them. In the next call, freeing them would look like hidden work.
    auto freed = ask(KGEN_OP_ECHO, {}, {timeout});
    const auto* echo = std::get_if<RunnerReply>(&freed);
    return echo != nullptr && echo->status == RunnerStatus::Ok ? std::move(answer) : std::move(freed);
  }

  /// Opens a descriptor of the supervisor's only child: signals sent through it cannot reach another process.
  void open_runner(Clock::time_point deadline) {
    // The supervisor's record was written before HELLO, but into another pipe, so HELLO may have been read first.
    while (supervisor_ == 0 && Clock::now() < deadline) {
      pollfd watched{connection_.status.get(), POLLIN, 0};
      if (::poll(&watched, 1, 100) > 0 && !read_status()) return;
    }
    const auto children = supervisor_ > 0 ? children_of(supervisor_) : std::vector<pid_t>{};
    if (children.size() != 1) return;
    runner_pid_ = children.front();
    runner_.reset(static_cast<int>(::syscall(SYS_pidfd_open, runner_pid_, 0)));
  }

  /// True if the worker can read the runner's memory on this machine. Requires: no candidate is loaded.
  bool holds_probe_word(std::uint64_t address) const {
    std::uint64_t word = 0;
    return read_process_memory(runner_pid_, address, std::as_writable_bytes(std::span(&word, 1))) == 0 &&
           word == KGEN_PROBE_WORD;
  }

  /// Waits for the reply to a step that may build, within the limits of `clock`.
  RunnerAnswer receive_while_building(std::uint16_t op, Clock::time_point start, BuildClock& clock) {
    while (true) {
      auto answer = poll_for_reply(op, sequence_, Clock::now() + k_helper_interval);
      // Where the kernel ends only one process of a group, the runner may go on without it.
      if (has_run_out()) return end_with({.text = k_out_of_memory, .allocation_failed = true});
      if (answer) return *std::move(answer);
      const auto verdict = clock.observe(Clock::now() - start, processes_of(supervisor_, runner_pid_));
      if (verdict == BuildClock::Verdict::Going) continue;
      return end_with({.timed_out = true, .was_building = verdict == BuildClock::Verdict::BuildLimit});
    }
  }

  /// Waits for the reply to a command, or for the end of the runner.
  RunnerAnswer receive(std::uint16_t op, std::uint64_t sequence, Clock::time_point deadline) {
    if (auto answer = poll_for_reply(op, sequence, deadline)) return *std::move(answer);
    return end_with({.timed_out = true});
  }

  /// The reply, or the end of the runner; nothing when the deadline comes first.
  std::optional<RunnerAnswer> poll_for_reply(std::uint16_t op, std::uint64_t sequence, Clock::time_point deadline) {
    while (true) {
      std::array<pollfd, 2> watched{pollfd{connection_.control.get(), POLLIN, 0},
                                    pollfd{connection_.status.get(), POLLIN, 0}};
      const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
      // Cancellation is polled every 50 ms, which avoids a wake-up descriptor.
      const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(std::clamp<long>(left, 0, 50)));
      if (ready == 0 && builds_ && builds_->is_too_large())
        return end_with(
            {.text = "its builds take more than 2 GiB, 65536 files or 32 levels", .allocation_failed = true});
      if (ready < 0 && errno != EINTR) return end_with({});
      if (watched[0].revents != 0) {
        if (auto answer = read_reply(op, sequence)) return *std::move(answer);
      } else if (watched[1].revents != 0) {
        if (!read_status()) return end_with({});
      } else if (stop_.stop_requested()) {
        return end_with({});
      } else if (left <= 0) {
        return std::nullopt;
      }
    }
  }

  /// The reply in the next record; nothing when there was none to read.
  std::optional<RunnerAnswer> read_reply(std::uint16_t op, std::uint64_t sequence) {
    kgen_reply reply{};
    const auto count = ::recv(connection_.control.get(), &reply, sizeof reply, MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
    if (count <= 0) return end_with({});
    if (count != sizeof reply || reply.magic != KGEN_REPLY_MAGIC || reply.version != KGEN_RUNNER_PROTOCOL_VERSION)
      return forged();
    const auto length = std::min<std::size_t>(reply.text_length, sizeof reply.text);
    auto text = sanitize_text({reply.text, length}, sizeof reply.text);
    if (reply.op == KGEN_OP_CRASH) {
      if (reply.detail == 0 || reply.detail >= NSIG) return forged();
      return record_reported_crash({.signal = static_cast<int>(reply.detail),
                                    .text = std::move(text),
                                    .allocation_failed = reply.arg[1] != 0,
                                    .has_device_fault = reply.status == KGEN_STATUS_DEVICE_FAULT});
    }
    if (reply.op != op || reply.sequence != sequence || reply.status > KGEN_STATUS_DEVICE_FAULT) return forged();
    // Differences of times that a runner names must be numbers.
    if (reply.start_ns < 0 || reply.end_ns < 0) return forged();
    if (op == KGEN_OP_RUN && reply.status == KGEN_STATUS_OK) {
      addresses_ = addresses_in(reply);
      text.clear();
    }
    RunnerReply answer{.status = static_cast<RunnerStatus>(reply.status),
                       .start_ns = reply.start_ns,
                       .end_ns = reply.end_ns,
                       .text = std::move(text),
                       .returned = static_cast<int>(reply.detail)};
    std::copy(std::begin(reply.arg), std::end(reply.arg), answer.arg.begin());
    return answer;
  }

  RunnerAnswer forged() {
    end_with({});
    return RunnerReply{.status = RunnerStatus::Protocol};
  }

  /// False at the end of the pipe.
  bool read_status() {
    kgen_status_record record{};
    const auto count = ::read(connection_.status.get(), &record, sizeof record);
    if (count != sizeof record || record.magic != KGEN_STATUS_MAGIC) return false;
    if (record.what == KGEN_SUPERVISOR_SEALED) is_sealed_ = true;
    if (record.what == KGEN_SUPERVISOR_STARTED) supervisor_ = static_cast<pid_t>(record.value);
    if (record.what != KGEN_SUPERVISOR_ENDED) return true;
    wait_status_ = static_cast<int>(record.value);
    return false;
  }

  RunnerDeath end_with(RunnerDeath death) {
    if (dead_) return *dead_;
    // Where the worker ends it, there is no status to wait for.
    const bool ended_here =
        death.timed_out || death.left_processes || death.has_foreign_memory || death.allocation_failed;
    if (!ended_here && !stop_.stop_requested()) await_status();
    if (wait_status_ && WIFSIGNALED(*wait_status_)) death.signal = WTERMSIG(*wait_status_);
    if (wait_status_ && WIFEXITED(*wait_status_)) death.exit_code = WEXITSTATUS(*wait_status_);
    if (death.signal == SIGKILL && has_run_out()) {
      death.allocation_failed = true;
      death.text = k_out_of_memory;
    }
    dead_ = death;
    end();
    return death;
  }

  /// Records the crash that the runner itself reported, and kills it, so that a false report gains nothing. A driver
  /// needs a while to clean up after a process on a device; end() waits for that, and the caller does not.
  RunnerDeath record_reported_crash(RunnerDeath death) {
    signal_runner(SIGKILL);
    reported_crash_ = true;
    dead_ = death;
    return death;
  }

  /// Waits for the exit status: the connection closes before the supervisor has reaped the runner.
  void await_status() {
    const auto deadline = Clock::now() + k_death_patience;
    while (!wait_status_ && Clock::now() < deadline) {
      pollfd watched{connection_.status.get(), POLLIN, 0};
      if (::poll(&watched, 1, 100) > 0 && !read_status()) return;
    }
  }

  /// Stops the candidate while the judge looks at its answer or times the reference.
  void freeze() {
    // A traced process would not stay stopped.
    if (sampler_) sampler_->stop();
    frozen_ = runner_.valid() && signal_runner(SIGSTOP);
    if (frozen_ && spreads_threads_) spread_over_processors(runner_pid_, processors_);
  }

  void thaw() {
    if (std::exchange(frozen_, false)) signal_runner(SIGCONT);
  }

  bool signal_runner(int signal) { return ::syscall(SYS_pidfd_send_signal, runner_.get(), signal, nullptr, 0) == 0; }

  /// Ends the runner with everything that it started: killing pid 1 of a namespace kills all of it. The worker is a
  /// subreaper, so the supervisor is its child by now.
  void end() noexcept {
    connection_.control.reset();
    // Without namespaces, the supervisor kills the processes that the candidate has left behind.
    if (reported_crash_) await_status();
    if (supervisor_ > 0) {
      ::kill(supervisor_, SIGKILL);
      int status = 0;
      while (::waitpid(supervisor_, &status, 0) < 0 && errno == EINTR) {
      }
      supervisor_ = 0;
    }
    connection_.status.reset();
    group_.reset();
    // An interrupted build is not cached: the next evaluation would not build ahead, and its compiler may hang in the
    // runner.
    if (builds_ && !(dead_ && dead_->was_building)) builds_->keep();
  }

  RunnerConnection connection_;
  std::unique_ptr<BuildCache> builds_;
  /// Limits the memory of the candidate's processes, where that is possible.
  std::optional<MemoryGroup> group_;
  std::stop_token stop_;
  pid_t supervisor_ = 0;
  UniqueFd runner_;
  pid_t runner_pid_ = 0;
  bool readable_ = false;
  bool frozen_ = false;
  int processors_ = 0;
  bool spreads_threads_ = false;
  bool on_device_ = false;
  /// Samples the calls of examine(); null otherwise.
  std::unique_ptr<ProcessorSampler> sampler_;
  /// Weight sets of a Python candidate that were constructed and not called yet.
  std::set<int> uncalled_sets_;
  /// True if the supervisor decides about the processes that it starts.
  bool is_watched_ = false;
  bool is_sealed_ = false;
  /// True if it is another user than this process.
  bool is_other_user_ = false;
  std::int64_t processor_ns_at_reply_ = 0;
  std::int64_t overrun_ns_ = 0;
  std::optional<OutputReader> reader_;
  std::vector<std::uint64_t> addresses_;
  std::uint64_t sequence_ = 0;
  std::string isolation_;
  std::optional<int> wait_status_;
  /// True if it reported a crash and its end was not waited for.
  bool reported_crash_ = false;
  std::optional<RunnerDeath> dead_;
};

}  // namespace

Result<RunnerSockets> make_runner_sockets() {
  KERNELGEN_TRY(auto sockets, make_packet_pair());
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return errno_error(errno, "cannot make a pipe");
  return RunnerSockets{.ours = {std::move(sockets.ours), UniqueFd(pipe[0])},
                       .control = std::move(sockets.theirs),
                       .status = UniqueFd(pipe[1])};
}

std::unique_ptr<RunnerProcess> make_runner_process(RunnerConnection connection, std::unique_ptr<BuildCache> builds) {
  return std::make_unique<SandboxedRunner>(std::move(connection), std::move(builds));
}

}  // namespace v0
}  // namespace kernelgen
