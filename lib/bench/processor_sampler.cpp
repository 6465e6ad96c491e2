#include "bench/processor_sampler.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "bench/library_use.hpp"
#include "bench/output_reader.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

using namespace std::chrono_literals;

/// Between two looks at all threads; a look takes about as long.
constexpr auto k_interval = 200us;
/// A thread that does not stop within this time is left alone.
constexpr auto k_stop_patience = 20ms;
constexpr std::size_t k_enough_samples = 4096;
constexpr std::size_t k_stack_words = 512;
constexpr int k_event_shift = 16;

struct Registers {
  std::uint64_t instruction = 0;
  std::uint64_t stack = 0;
};

std::optional<Registers> read_registers(pid_t thread) {
  user_regs_struct registers{};
  iovec place{&registers, sizeof registers};
  if (::ptrace(PTRACE_GETREGSET, thread, reinterpret_cast<void*>(NT_PRSTATUS), &place) != 0) return std::nullopt;
#if defined(__x86_64__)
  return Registers{registers.rip, registers.rsp};
#elif defined(__aarch64__)
  return Registers{registers.pc, registers.sp};
#else
  return std::nullopt;
#endif
}

bool is_on_processor(pid_t process, pid_t thread) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/stat", process, thread));
  std::string line;
  if (!std::getline(file, line)) return false;
  // The name comes before, in parentheses, and may itself hold any character.
  const auto name_end = line.rfind(") ");
  return name_end != std::string::npos && line.compare(name_end + 2, 1, "R") == 0;
}

std::vector<pid_t> threads_of(pid_t process) {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", process), error)) {
    const auto name = entry.path().filename().string();
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0) found.push_back(thread);
  }
  return found;
}

/// The threads that this thread traces. A traced thread stops at each signal, and has to be told to go on.
class Tracer {
 public:
  explicit Tracer(pid_t process) : process_(process) {}

  /// False if the system refuses.
  bool seize(pid_t thread) {
    if (threads_.contains(thread)) return true;
    if (::ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0) return errno == ESRCH;
    threads_.insert(thread);
    return true;
  }

  /// Stops a thread, looks at it, and lets it go on.
  std::optional<ProcessorSample> look_at(pid_t thread) {
    if (!stop(thread)) return std::nullopt;
    const auto registers = read_registers(thread);
    ProcessorSample sample;
    sample.at_ns = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
    if (registers) {
      sample.instruction = registers->instruction;
      sample.stack.resize(k_stack_words);
      // The end of the stack may come first; zeros are no addresses.
      (void)read_process_memory(process_, registers->stack, std::as_writable_bytes(std::span(sample.stack)));
    }
    ::ptrace(PTRACE_CONT, thread, nullptr, nullptr);
    return registers ? std::optional(std::move(sample)) : std::nullopt;
  }

  /// Passes signals on that have arrived meanwhile.
  void pass_signals_on() {
    for (auto at = threads_.begin(); at != threads_.end();) {
      int status = 0;
      const auto changed = ::waitpid(*at, &status, __WALL | WNOHANG);
      const bool has_ended = (changed < 0 && errno != EINTR) || (changed > 0 && !WIFSTOPPED(status));
      if (changed > 0 && WIFSTOPPED(status)) resume(*at, status);
      at = has_ended ? threads_.erase(at) : std::next(at);
    }
  }

  void release() {
    const auto threads = threads_;
    for (const auto thread : threads)
      if (stop(thread)) ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
    threads_.clear();
  }

 private:
  bool stop(pid_t thread) {
    if (!threads_.contains(thread) || ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) != 0) return false;
    const auto deadline = std::chrono::steady_clock::now() + k_stop_patience;
    while (std::chrono::steady_clock::now() < deadline) {
      int status = 0;
      const auto changed = ::waitpid(thread, &status, __WALL | WNOHANG);
      if (changed == thread && WIFSTOPPED(status)) {
        if (status >> k_event_shift == PTRACE_EVENT_STOP) return true;
        resume(thread, status);
      } else if (changed != 0 && !(changed < 0 && errno == EINTR)) {
        threads_.erase(thread);
        return false;
      } else {
        std::this_thread::sleep_for(10us);
      }
    }
    return false;
  }

  static void resume(pid_t thread, int status) {
    const bool is_signal = status >> k_event_shift == 0;
    ::ptrace(PTRACE_CONT, thread, nullptr, is_signal ? static_cast<std::uintptr_t>(WSTOPSIG(status)) : 0);
  }

  const pid_t process_;
  std::set<pid_t> threads_;
};

/// The mapping that holds an address; null for data.
const CodeMapping* mapping_of(std::uint64_t address, const std::vector<CodeMapping>& mappings) {
  auto next = std::upper_bound(mappings.begin(), mappings.end(), address,
                               [](std::uint64_t value, const CodeMapping& one) { return value < one.begin; });
  if (next == mappings.begin()) return nullptr;
  --next;
  return address < next->end ? &*next : nullptr;
}

WorkActivity activity_in(const CodeMapping& mapping, ObjectKind kind) {
  const auto origin = kind == ObjectKind::Framework ? KernelOrigin::Framework
                      : kind == ObjectKind::Library ? KernelOrigin::Library
                                                    : KernelOrigin::Own;
  const auto name = std::filesystem::path(mapping.path).filename().string();
  return {.name = origin == KernelOrigin::Own ? "own code" : name, .origin = origin, .microseconds = 1};
}

/// The object that works in a sample; nothing for one that only waits, or interprets Python.
std::optional<WorkActivity> activity_of(const ProcessorSample& sample, const std::vector<CodeMapping>& mappings) {
  const auto* at = mapping_of(sample.instruction, mappings);
  if (at == nullptr) return std::nullopt;
  // Code made at run time belongs to the library that made it, if one called it.
  const bool is_generated = at->path.empty();
  const auto kind = is_generated ? ObjectKind::Helper : kind_of_object(at->path);
  if (kind == ObjectKind::Overhead) return std::nullopt;
  if (kind != ObjectKind::Helper) return activity_in(*at, kind);
  for (const auto word : sample.stack) {
    const auto* caller = mapping_of(word, mappings);
    if (caller == nullptr || caller->path.empty()) continue;
    const auto found = kind_of_object(caller->path);
    if (found == ObjectKind::Helper) continue;
    if (found == ObjectKind::Overhead) break;
    return activity_in(*caller, found);
  }
  return is_generated ? std::optional(activity_in(*at, ObjectKind::Own)) : std::nullopt;
}

}  // namespace

std::vector<CodeMapping> read_code_mappings(pid_t process) {
  std::vector<CodeMapping> mappings;
  std::ifstream file(fmt::format("/proc/{}/maps", process));
  for (std::string line; std::getline(file, line);) {
    // "7f00-7f10 r-xp 00000000 fe:00 123    /path with spaces"
    const auto dash = line.find('-');
    const auto space = line.find(' ');
    if (dash == line.npos || space == line.npos || dash > space || line.size() < space + 5 || line[space + 3] != 'x')
      continue;
    CodeMapping mapping;
    std::from_chars(line.data(), line.data() + dash, mapping.begin, 16);
    std::from_chars(line.data() + dash + 1, line.data() + space, mapping.end, 16);
    if (const auto path = line.find_first_of("/[", space); path != line.npos) mapping.path = line.substr(path);
    mappings.push_back(std::move(mapping));
  }
  return mappings;
}

std::vector<WorkActivity> activities_of(const std::vector<ProcessorSample>& samples,
                                        const std::vector<CodeMapping>& mappings, std::int64_t from_ns,
                                        std::int64_t to_ns) {
  std::vector<WorkActivity> activities;
  for (const auto& sample : samples) {
    if (sample.at_ns < from_ns || sample.at_ns > to_ns) continue;
    if (auto activity = activity_of(sample, mappings)) activities.push_back(*std::move(activity));
  }
  return activities;
}

ProcessorSampler::ProcessorSampler(pid_t process) : process_(process) {
  // The kernel lets the thread that traces another one control it, and no other thread.
  thread_ = std::thread([this] { sample_until_stopped(); });
}

void ProcessorSampler::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void ProcessorSampler::sample_until_stopped() {
  Tracer tracer(process_);
  while (!stopping_ && could_trace_ && samples_.size() < k_enough_samples) {
    for (const auto thread : threads_of(process_)) {
      if (!is_on_processor(process_, thread)) continue;
      could_trace_ = tracer.seize(thread);
      if (!could_trace_) break;
      if (auto sample = tracer.look_at(thread)) samples_.push_back(*std::move(sample));
    }
    tracer.pass_signals_on();
    std::this_thread::sleep_for(k_interval);
  }
  tracer.release();
}

}  // namespace v0
}  // namespace kernelgen
