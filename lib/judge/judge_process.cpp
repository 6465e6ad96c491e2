#include "judge/judge_process.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <optional>
#include <span>
#include <utility>

#include "core/json_codec.hpp"
#include "device/processors.hpp"
#include "exec/exit_status.hpp"
#include "support/frame_channel.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {

template <>
inline constexpr auto names_of<ReferenceOrder> = make_names<ReferenceOrder>({{ReferenceOrder::Before, "before"},
                                                                             {ReferenceOrder::After, "after"},
                                                                             {ReferenceOrder::Never, "never"}});

namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::size_t k_message_bytes = 4000;
/// Time limit of all requests except loading and admitting a task. A reference call may take long on a small machine.
constexpr milliseconds k_step_timeout{600'000};
/// Additional time for a judge to report that compiling took too long: the time limit starts after a call of the eager
/// reference.
constexpr milliseconds k_compile_grace{60'000};

Error malformed(std::string_view op, std::string_view member) {
  return {ErrorCode::Protocol, fmt::format("the judge's answer to {} has no usable \"{}\"", op, member)};
}

Result<std::uint64_t> read_u64(const json::object& object, std::string_view op, std::string_view member) {
  const auto* value = object.if_contains(member);
  if (value == nullptr) return malformed(op, member);
  if (value->is_int64() && value->get_int64() >= 0) return static_cast<std::uint64_t>(value->get_int64());
  if (value->is_uint64()) return value->get_uint64();
  std::uint64_t number = 0;
  if (value->is_string()) {
    const auto& text = value->get_string();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size()) return number;
  }
  return malformed(op, member);
}

template <class T>
Result<T> read(const json::object& object, std::string_view op, std::string_view member) {
  const auto* value = object.if_contains(member);
  if (value == nullptr) return malformed(op, member);
  return from_value<T>(*value).context(fmt::format("the judge's answer to {}", op));
}

/// Reads the error of a reply. It is sanitized, because the judge's messages quote the task's.
Error error_from(const json::object& reply) {
  Error error{ErrorCode::Internal, "the judge failed without saying why"};
  const auto* said = reply.if_contains("error");
  if (said == nullptr || !said->is_object()) return error;
  if (const auto* message = said->get_object().if_contains("message"); message != nullptr && message->is_string())
    error.message = sanitize_line(std::string_view(message->get_string()), k_message_bytes);
  if (const auto* code = said->get_object().if_contains("code"); code != nullptr && code->is_string())
    error.code = parse_error_code(std::string_view(code->get_string())).value_or(ErrorCode::Internal);
  return error;
}

json::value device_value(const std::optional<JudgeDevice>& device, const DevicePart& part) {
  if (!device) return nullptr;
  return {{"vendor", device->vendor},
          {"uuid", device->uuid},
          {"variable", device->variable},
          {"l2_bytes", device->l2_bytes},
          {"bytes_per_second", device->bytes_per_second},
          {"memory_sharing", device->memory_sharing},
          {"part_bytes", part.device_bytes},
          {"parts", part.parts}};
}

class JudgeProcess final : public Judge {
 public:
  explicit JudgeProcess(JudgeProcessOptions options)
      : pid_(options.pid),
        support_library_(std::move(options.support_library)),
        memory_limit_(options.memory_limit),
        part_(options.part),
        channel_(std::move(options.socket)) {}

  JudgeProcess(const JudgeProcess&) = delete;
  JudgeProcess& operator=(const JudgeProcess&) = delete;
  ~JudgeProcess() override { end(); }

  std::optional<ProcessorTime> processor_time() const override { return processor_time_; }

  Result<TaskDescription> load(const JudgeTask& task, std::stop_token stop) override {
    task_name_ = task.source.name;
    task_timeout_ = task.timeout;
    json::array shrink;
    for (const auto& [name, value] : task.shrink) shrink.push_back(json::array{name, value});
    json::object request{{"task", to_value(task.source)},
                         {"precision", to_string(task.precision)},
                         {"threads", task.threads},
                         {"processors", task.device ? 0 : processors_for(task.threads)},
                         {"shrink", std::move(shrink)},
                         {"rtol", task.rtol ? json::value(*task.rtol) : json::value(nullptr)},
                         {"atol", task.atol ? json::value(*task.atol) : json::value(nullptr)},
                         // A GPU driver reserves terabytes of addresses, so there is no limit then.
                         {"memory_bytes", task.device ? 0 : memory_limit_},
                         {"device", device_value(task.device, part_)},
                         {"support_library", support_library_}};
    KERNELGEN_TRY(auto reply, call("load", std::move(request), task_timeout_, stop));
    return read<TaskDescription>(reply, "load", "description");
  }

  Result<Admission> admit(const std::optional<std::string>& cached, std::stop_token stop) override {
    json::object request{{"cached", nullptr}};
    if (cached) {
      KERNELGEN_TRY(request["cached"], parse_json(*cached));
    }
    KERNELGEN_TRY(auto reply, call("admit", std::move(request), task_timeout_, stop));
    const auto* opaque = reply.if_contains("admission");
    if (opaque == nullptr || !opaque->is_object()) return malformed("admit", "admission");
    const auto& found = opaque->get_object();
    Admission admission;
    KERNELGEN_TRY(const bool is_kept, read<bool>(reply, "admit", "kept"));
    if (is_kept) admission.cached = json::serialize(*opaque);
    KERNELGEN_TRY(admission.labels, read<std::vector<std::string>>(found, "admit", "labels"));
    KERNELGEN_TRY(admission.scored, read<bool>(found, "admit", "scored"));
    KERNELGEN_TRY(admission.distributions, read<std::vector<std::string>>(found, "admit", "distributions"));
    KERNELGEN_TRY(admission.probe, read<std::string>(found, "admit", "probe"));
    KERNELGEN_TRY(const auto sets, read<std::vector<std::string>>(found, "admit", "weight_sets"));
    admission.weight_sets = static_cast<int>(sets.size());
    KERNELGEN_TRY(admission.float64, read<std::string>(found, "admit", "float64"));
    if (const auto* bytes = found.if_contains("sensitive_bytes"); bytes != nullptr && !bytes->is_null()) {
      KERNELGEN_TRY(admission.sensitive_bytes, read_u64(found, "admit", "sensitive_bytes"));
    }
    KERNELGEN_TRY(admission.tolerance, read<Tolerance>(reply, "admit", "tolerance"));
    return admission;
  }

  Result<ExchangeLayout> layout() override {
    KERNELGEN_TRY(auto reply, call("layout", {}));
    ExchangeLayout layout;
    KERNELGEN_TRY(layout.bytes, read_u64(reply, "layout", "bytes"));
    if (reply.contains("device_bytes")) {
      KERNELGEN_TRY(layout.device_bytes, read_u64(reply, "layout", "device_bytes"));
    }
    KERNELGEN_TRY(layout.native_job, read<std::string>(reply, "layout", "native_job"));
    if (const auto* job = reply.if_contains("python_job")) layout.python_job = json::serialize(*job);
    KERNELGEN_TRY(layout.input_bytes, read_u64(reply, "layout", "input_bytes"));
    KERNELGEN_TRY(layout.output_bytes, read_u64(reply, "layout", "output_bytes"));
    using Pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    KERNELGEN_TRY(const auto outputs, read<Pairs>(reply, "layout", "outputs"));
    for (const auto& [offset, bytes] : outputs) layout.outputs.push_back({offset, bytes});
    KERNELGEN_TRY(layout.slots, read<int>(reply, "layout", "slots"));
    KERNELGEN_TRY(layout.slot_bytes, read_u64(reply, "layout", "slot_bytes"));
    return layout;
  }

  Result<std::optional<DeviceArena>> attach(const SharedMemory& exchange) override {
    KERNELGEN_TRY(auto reply, call_with("attach", {{"bytes", exchange.bytes}}, exchange.fd));
    auto fds = channel_.take_fds();
    const auto* announced = reply.if_contains("device_fd");
    if (announced == nullptr || announced->is_null()) return std::optional<DeviceArena>();
    if (fds.size() != 1) return malformed("attach", "device_fd");
    device_arena_ = std::move(fds.front());
    DeviceArena arena{.fd = device_arena_.get()};
    KERNELGEN_TRY(arena.kept_bytes, read_u64(reply, "attach", "device_bytes"));
    KERNELGEN_TRY(arena.launch.call_ns, read<std::int64_t>(reply, "attach", "call_launch_ns"));
    KERNELGEN_TRY(arena.launch.replay_ns, read<std::int64_t>(reply, "attach", "replay_launch_ns"));
    return std::optional(arena);
  }

  Result<WeightDraw> use_weights(int set) override {
    KERNELGEN_TRY(auto reply, call("weights", {{"set", set}}));
    WeightDraw draw;
    KERNELGEN_TRY(draw.seed, read_u64(reply, "weights", "seed"));
    KERNELGEN_TRY(draw.transform, read_u64(reply, "weights", "transform"));
    return draw;
  }

  Result<StateMatch> match_state(int set, const SharedMemory& state) override {
    KERNELGEN_TRY(auto reply, call_with("state", {{"set", set}, {"bytes", state.bytes}}, state.fd));
    if (reply.contains("outcome")) {
      KERNELGEN_TRY(auto forged, read<Outcome>(reply, "state", "outcome"));
      return StateMatch(std::move(forged));
    }
    WeightMatch match;
    KERNELGEN_TRY(match.report, read<WeightReport>(reply, "state", "weights"));
    KERNELGEN_TRY(match.missed_constants, read<bool>(reply, "state", "missed"));
    return StateMatch(std::move(match));
  }

  Result<PreparedCall> prepare_call(const CallRequest& request) override {
    KERNELGEN_TRY(auto reply, prefetched_ && prefetched_->request == request
                                  ? take_prefetched()
                                  : call("prepare_call", call_body(request)));
    PreparedCall prepared;
    KERNELGEN_TRY(prepared.seed, read_u64(reply, "prepare_call", "seed"));
    KERNELGEN_TRY(prepared.forward_seed, read_u64(reply, "prepare_call", "forward_seed"));
    KERNELGEN_TRY(prepared.reference_ns, read<std::int64_t>(reply, "prepare_call", "reference_ns"));
    KERNELGEN_TRY(prepared.fresh, read<bool>(reply, "prepare_call", "fresh"));
    KERNELGEN_TRY(prepared.series.slot, read<int>(reply, "prepare_call", "slot"));
    KERNELGEN_TRY(prepared.series.calls, read<int>(reply, "prepare_call", "calls"));
    if (reply.contains("throttled")) {
      KERNELGEN_TRY(prepared.throttled, read<bool>(reply, "prepare_call", "throttled"));
      KERNELGEN_TRY(prepared.clock_mhz, read<std::int64_t>(reply, "prepare_call", "clock_mhz"));
    }
    return prepared;
  }

  Result<CheckResult> check(CheckMode mode, const std::optional<CallRequest>& next) override {
    KERNELGEN_CHECK(drop_prefetched());
    KERNELGEN_TRY(const auto asked, ask("check", {{"mode", mode == CheckMode::Full ? "full" : "sample"}}));
    if (next) {
      KERNELGEN_TRY(const auto id, ask("prepare_call", call_body(*next)));
      prefetched_ = PrefetchedCall{*next, id};
    }
    KERNELGEN_TRY(auto reply, answer_to("check", asked));
    CheckResult result;
    KERNELGEN_TRY(result.outcome, read<Outcome>(reply, "check", "outcome"));
    KERNELGEN_TRY(result.outputs, read<std::vector<OutputError>>(reply, "check", "outputs"));
    if (reply.contains("reference_ns")) {
      KERNELGEN_TRY(result.reference_ns, read<std::int64_t>(reply, "check", "reference_ns"));
      KERNELGEN_TRY(result.throttled, read<bool>(reply, "check", "throttled"));
    }
    return result;
  }

  Result<std::optional<DeviceUse>> device_use() override {
    KERNELGEN_TRY(auto reply, call("device_use", {}));
    if (!reply.contains("total_bytes")) return std::optional<DeviceUse>();
    DeviceUse use;
    KERNELGEN_TRY(use.total_bytes, read<std::uint64_t>(reply, "device_use", "total_bytes"));
    KERNELGEN_TRY(use.foreign_bytes, read<std::uint64_t>(reply, "device_use", "foreign_bytes"));
    KERNELGEN_TRY(use.runner_bytes, read<std::uint64_t>(reply, "device_use", "runner_bytes"));
    KERNELGEN_TRY(use.probes, read<std::int64_t>(reply, "device_use", "probes"));
    KERNELGEN_TRY(use.delayed_probes, read<std::int64_t>(reply, "device_use", "delayed_probes"));
    return std::optional(use);
  }

  Result<ReferenceSamples> time_reference(CallMode mode, const SamplingLimits& sampling) override {
    auto body = sampling_body(sampling);
    body["graph"] = mode == CallMode::Graph;
    KERNELGEN_TRY(auto reply, call("time_reference", std::move(body)));
    return read_samples(reply, "time_reference");
  }

  Result<std::string> compile_reference(const CompileReferenceRequest& request, std::stop_token stop) override {
    json::object body{{"kind", to_string(request.kind)},
                      {"cache_dir", request.cache_dir},
                      {"seconds", std::chrono::duration<double>(request.timeout).count()}};
    // The judge enforces the limit itself, unless it hangs outside Python.
    KERNELGEN_TRY(auto reply, call("compile", std::move(body), request.timeout + k_compile_grace, stop));
    return read<std::string>(reply, "compile", "reason");
  }

  Result<ReferenceSamples> time_compiled(const SamplingLimits& sampling, std::stop_token stop) override {
    KERNELGEN_TRY(auto reply, call("time_compiled", sampling_body(sampling), k_step_timeout, stop));
    return read_samples(reply, "time_compiled");
  }

 private:
  /// A request to prepare a call that was sent ahead of time, with its reply still to be read.
  struct PrefetchedCall {
    CallRequest request;
    std::int64_t id = 0;
  };

  static json::object sampling_body(const SamplingLimits& sampling) {
    return {{"min_samples", sampling.min_samples},
            {"max_samples", sampling.max_samples},
            {"calls", sampling.calls},
            {"seconds", std::chrono::duration<double>(sampling.budget).count()}};
  }

  static Result<ReferenceSamples> read_samples(const json::object& reply, std::string_view op) {
    ReferenceSamples baseline;
    KERNELGEN_TRY(baseline.samples_ns, read<std::vector<std::int64_t>>(reply, op, "samples_ns"));
    if (reply.contains("reason")) {
      KERNELGEN_TRY(baseline.reason, read<std::string>(reply, op, "reason"));
    }
    return baseline;
  }

  static json::object call_body(const CallRequest& request) {
    return {{"distribution", request.distribution},
            {"seed", nullptr},
            {"graph", request.mode == CallMode::Graph},
            {"reference", names_of<ReferenceOrder>.name(request.order)},
            {"calls", request.calls},
            {"draws", request.gives_draws},
            {"repeat", request.freshness == Freshness::Repeat},
            {"canary", request.freshness == Freshness::Canary}};
  }

  Result<json::object> take_prefetched() {
    const auto id = std::exchange(prefetched_, std::nullopt)->id;
    return answer_to("prepare_call", id);
  }

  /// Drops the reply to a prefetched request that is not needed. An error of the task in it will occur again.
  Result<void> drop_prefetched() {
    if (!prefetched_) return {};
    const auto id = std::exchange(prefetched_, std::nullopt)->id;
    KERNELGEN_CHECK(frame_for("prepare_call", id, k_step_timeout, {}));
    return {};
  }

  Result<json::object> call(std::string_view op, json::object request, milliseconds timeout = k_step_timeout,
                            const std::stop_token& stop = {}) {
    KERNELGEN_CHECK(drop_prefetched());
    KERNELGEN_TRY(const auto id, ask(op, std::move(request)));
    return answer_to(op, id, timeout, stop);
  }

  /// A request that hands over a descriptor: the judge cannot open this process's files by their paths.
  Result<json::object> call_with(std::string_view op, json::object request, int fd) {
    KERNELGEN_CHECK(drop_prefetched());
    KERNELGEN_TRY(const auto id, ask(op, std::move(request), std::span(&fd, 1)));
    return answer_to(op, id);
  }

  /// Sends a request and returns its id.
  Result<std::int64_t> ask(std::string_view op, json::object request, std::span<const int> fds = {}) {
    const auto id = next_id_++;
    request["op"] = op;
    request["id"] = id;
    if (auto sent = channel_.send(json::serialize(request), fds); !sent)
      return diagnose_failure(op, std::move(sent).error(), k_step_timeout);
    return id;
  }

  Result<json::object> answer_to(std::string_view op, std::int64_t id, milliseconds timeout = k_step_timeout,
                                 const std::stop_token& stop = {}) {
    KERNELGEN_TRY(auto reply, frame_for(op, id, timeout, stop));
    const auto* ok = reply.if_contains("ok");
    if (ok == nullptr || !ok->is_bool()) return malformed(op, "ok");
    if (!ok->get_bool()) return error_from(reply);
    return reply;
  }

  Result<json::object> frame_for(std::string_view op, std::int64_t id, milliseconds timeout,
                                 const std::stop_token& stop) {
    auto frame = channel_.receive(timeout, stop);
    if (!frame) return diagnose_failure(op, std::move(frame).error(), timeout);
    KERNELGEN_TRY(auto parsed, parse_json(*frame));
    if (!parsed.is_object()) return malformed(op, "object");
    auto& reply = parsed.get_object();
    const auto* answered = reply.if_contains("id");
    if (answered == nullptr || !answered->is_int64() || answered->get_int64() != id) return malformed(op, "id");
    KERNELGEN_CHECK(read_processor_time(reply, op));
    return std::move(reply);
  }

  Result<void> read_processor_time(const json::object& reply, std::string_view op) {
    const auto* said = reply.if_contains("processor_ns");
    if (said == nullptr || said->is_null()) return {};
    using Pair = std::pair<std::int64_t, std::int64_t>;
    KERNELGEN_TRY(const auto spent, read<Pair>(reply, op, "processor_ns"));
    processor_time_ = ProcessorTime{.running = std::chrono::nanoseconds(spent.first),
                                    .waiting = std::chrono::nanoseconds(spent.second)};
    return {};
  }

  /// Ends a judge that does not answer, and explains the failure. The task is the cause of both hanging and crashing.
  Error diagnose_failure(std::string_view op, Error error, milliseconds timeout) {
    if (error.code == ErrorCode::Timeout) {
      end();
      return {ErrorCode::InvalidTask, fmt::format("task {}: no answer to \"{}\" within {:.0f} s; does it hang?",
                                                  task_name_, op, std::chrono::duration<double>(timeout).count())};
    }
    if (error.code == ErrorCode::Unavailable) {
      const auto status = wait_for_end();
      const bool killed = status.signal == SIGKILL;
      return {killed ? ErrorCode::OutOfMemory : ErrorCode::InvalidTask,
              fmt::format("task {}: its process ended during \"{}\" ({}){}", task_name_, op, status.to_line(),
                          killed ? "; it probably needs more memory than there is" : "")};
    }
    return error;
  }

  /// Waits for a process that has closed its socket: its own exit status says more than a kill would.
  ExitStatus wait_for_end() noexcept {
    int status = 0;
    for (int i = 0; i < 100 && pid_ > 0; ++i) {
      if (::waitpid(pid_, &status, WNOHANG) == pid_) return reaped(status);
      ::usleep(2000);
    }
    return end();
  }

  ExitStatus end() noexcept {
    if (pid_ <= 0) return {};
    int status = 0;
    // A judge that compiles leads a process group with its compilers.
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    return reaped(status);
  }

  ExitStatus reaped(int status) noexcept {
    pid_ = 0;
    return exit_status_from_wait(status);
  }

  pid_t pid_;
  std::string support_library_;
  std::uint64_t memory_limit_;
  DevicePart part_;
  FrameChannel channel_;
  UniqueFd device_arena_;
  std::string task_name_;
  milliseconds task_timeout_{0};
  std::int64_t next_id_ = 1;
  std::optional<PrefetchedCall> prefetched_;
  std::optional<ProcessorTime> processor_time_;
};

}  // namespace

std::unique_ptr<Judge> make_judge_process(JudgeProcessOptions options) {
  return std::make_unique<JudgeProcess>(std::move(options));
}

}  // namespace v0
}  // namespace kernelgen
