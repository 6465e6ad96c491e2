#include "profile/sanitizers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "exec/sandbox.hpp"
#include "profile/call_job.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen {
inline namespace v0 {
namespace {

namespace fs = std::filesystem;

/// Calls under a tool. Races are found by the order of accesses, not by luck, so that few calls are enough.
constexpr int k_calls = 3;
/// Calls while addresses, processors and load change, and their time limit: what is wrong once in a thousand calls
/// shows with a probability of 95 % in 3000.
constexpr int k_shaken_calls = 20'000;
constexpr double k_shaken_seconds = 10;
/// With one thread nothing could race.
constexpr int k_least_threads = 4;
constexpr std::size_t k_max_output_bytes = 8u << 20;
constexpr std::size_t k_max_artifact_bytes = 512u << 20;
constexpr std::size_t k_max_result_bytes = 1u << 20;
constexpr std::chrono::seconds k_question_timeout{20};

constexpr std::string_view k_thread = "thread";
constexpr std::string_view k_address = "address";

/// Entry points of libgomp that libkgen_openmp_order.so orders.
constexpr auto k_ordered = std::to_array<std::string_view>({
    "GOMP_parallel",
    "GOMP_parallel_sections",
    "GOMP_barrier",
    "GOMP_barrier_cancel",
    "GOMP_loop_end",
    "GOMP_loop_end_cancel",
    "GOMP_sections_end",
    "GOMP_sections_end_cancel",
    "GOMP_single_copy_start",
    "GOMP_single_copy_end",
    "GOMP_critical_start",
    "GOMP_critical_end",
    "GOMP_critical_name_start",
    "GOMP_critical_name_end",
    "GOMP_atomic_start",
    "GOMP_atomic_end",
    "GOMP_ordered_start",
    "GOMP_ordered_end",
    "GOMP_task",
    "GOMP_taskwait",
    "GOMP_taskwait_depend",
    "GOMP_taskgroup_end",
});

/// Those that promise no order: a thread gets its share of a loop, learns whether it is the one that works, asks.
constexpr auto k_without_order = std::to_array<std::string_view>({
    "GOMP_single_start",
    "GOMP_sections_start",
    "GOMP_sections_next",
    "GOMP_sections_end_nowait",
    "GOMP_loop_end_nowait",
    "GOMP_taskyield",
    "GOMP_taskgroup_start",
    "GOMP_cancel",
    "GOMP_cancellation_point",
    "GOMP_alloc",
    "GOMP_free",
    "GOMP_warning",
    "GOMP_error",
});

bool is_known_openmp(std::string_view name) {
  const auto in = [&](const auto& names) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (in(k_ordered) || in(k_without_order)) return true;
  if (name.starts_with("GOMP_parallel_loop_")) return true;
  const bool is_loop = name.starts_with("GOMP_loop_");
  return is_loop && !contains(name, "doacross") && (name.ends_with("_start") || name.ends_with("_next"));
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// Places where CUDA and its packages install compute-sanitizer, besides the PATH.
std::optional<std::string> locate_compute_sanitizer(const std::map<std::string, std::string>& environment) {
  if (const auto found = find_program("compute-sanitizer", environment)) return *found;
  std::vector<fs::path> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto found = environment.find(name); found != environment.end()) roots.emplace_back(found->second);
  roots.emplace_back("/usr/local/cuda");
  for (const auto& root : roots)
    for (const char* place : {"bin/compute-sanitizer", "compute-sanitizer/compute-sanitizer"})
      if (const auto found = find_program((root / place).string(), environment)) return *found;
  return std::nullopt;
}

std::string first_line(std::string_view text) {
  return sanitize_line(trim(text).substr(0, trim(text).find('\n')), 200);
}

class LocalSanitizers final : public Sanitizers {
 public:
  LocalSanitizers(SanitizersOptions options, ProcessRunner& runner) : options_(std::move(options)), runner_(runner) {}

  Result<void> check_installed(const SanitizerTool& tool, std::stop_token stop) override {
    if (tool.kind != SanitizerKind::Shaker) KERNELGEN_CHECK(locate(tool, std::move(stop)));
    return {};
  }

  Result<SanitizerRun> run(const SanitizerTool& tool, const SanitizeRequest& request, std::stop_token stop) override {
    SanitizerRun run;
    run.report.tool = tool.name;
    std::string program;
    if (tool.kind != SanitizerKind::Shaker) {
      KERNELGEN_TRY(program, locate(tool, stop));
      KERNELGEN_TRY(run.report.version, version_of(program, stop));
    }
    if (tool.name == k_thread) {
      KERNELGEN_TRY(const auto object, read_file(request.call.artifact, k_max_artifact_bytes));
      if (const auto unordered = find_unordered_openmp(object)) {
        run.report.reason = fmt::format("it uses {} of OpenMP, whose order ThreadSanitizer cannot be told", *unordered);
        return run;
      }
    }
    const auto work = request.directory / "work";
    const auto result = work / "result.json";
    KERNELGEN_CHECK(make_directories(work));
    remove_leftovers(work, result);
    const bool shaken = tool.kind == SanitizerKind::Shaker;
    KERNELGEN_TRY(const auto job, write_call_job(request.call,
                                                 {.mode = shaken ? "shaken" : "watched",
                                                  .calls = shaken ? k_shaken_calls : k_calls,
                                                  .seconds = k_shaken_seconds,
                                                  .result = result.string()},
                                                 work / "job.json"));
    const auto started = start(tool, program, request, job, std::move(stop));
    // A machine with a sandbox that is too weak for the tool says nothing about the candidate.
    if (!started && started.error().code == ErrorCode::Unavailable) {
      run.report.status = SanitizerStatus::NotFinished;
      run.report.reason = started.error().message;
      run.cannot_run = true;
      return run;
    }
    if (!started) return started.error();
    const auto& outcome = *started;
    run.report.duration = outcome.duration;
    // The candidate may have written anything there, a link to another file among it.
    std::error_code error;
    const bool has_result = fs::is_regular_file(fs::symlink_status(result, error));
    const auto written = has_result ? read_file(result, k_max_result_bytes) : Result<std::string>(std::string());
    const std::string text = written ? *written : std::string();
    const bool calls_ended = has_result && (shaken || read_failure(text).empty());
    if (shaken && has_result) {
      auto report = read_shaken(text);
      if (!report) {
        run.report.status = SanitizerStatus::NotFinished;
        run.report.reason = report.error().message;
        return run;
      }
      run.findings = std::move(report->findings);
      if (!report->skipped.empty()) {
        run.report.reason = std::move(report->skipped);
        return run;
      }
    } else if (!shaken) {
      read(tool, request, outcome, calls_ended, run);
    }
    quote_source(*request.call.candidate, run);
    conclude(outcome, calls_ended, request.timeout, run);
    return run;
  }

 private:
  /// Removes the last tool's result, and locks of builds that were killed with it: torch would wait for them for ever.
  /// The candidate may have put links to other folders there.
  static void remove_leftovers(const fs::path& work, const fs::path& result) {
    std::error_code ignored;
    fs::remove_all(result, ignored);
    const auto is_folder = [&](const fs::path& path) { return fs::is_directory(fs::symlink_status(path, ignored)); };
    if (!is_folder(work / k_extensions)) return;
    for (fs::directory_iterator entry(work / k_extensions, ignored), end; entry != end; entry.increment(ignored))
      if (is_folder(entry->path())) fs::remove(entry->path() / "lock", ignored);
  }

  /// Without this library every barrier of OpenMP would look like a race.
  [[nodiscard]] std::string order_library() const {
    return (options_.installation.runner_support.parent_path() / "libkgen_openmp_order.so").string();
  }

  /// The program or library of a tool.
  Result<std::string> locate(const SanitizerTool& tool, std::stop_token stop) {
    if (tool.kind == SanitizerKind::ComputeSanitizer) {
      if (auto found = locate_compute_sanitizer(options_.environment)) return *std::move(found);
      return Error{ErrorCode::MissingTool,
                   "compute-sanitizer is not installed; it comes with the CUDA toolkit (NVIDIA's repository: apt "
                   "install cuda-sanitizer), or put its folder on the PATH",
                   {}};
    }
    KERNELGEN_TRY(const auto answer, runner_.run({.command = {options_.compiler, "-print-file-name=" + tool.runtime},
                                                  .environment = options_.environment,
                                                  .timeout = k_question_timeout},
                                                 std::move(stop)));
    std::error_code error;
    const std::string said(trim(answer.standard_output));
    const auto path = fs::canonical(said, error);
    // A compiler without the library repeats its name.
    if (error || !said.starts_with('/'))
      return Error{
          ErrorCode::MissingTool,
          fmt::format("{} has no {}, which watching a candidate needs: use GCC with its sanitizers (on Debian they are "
                      "part of libgcc-dev)",
                      options_.compiler, tool.runtime),
          {}};
    if (tool.name == k_thread && !fs::exists(order_library(), error))
      return Error{
          ErrorCode::MissingTool, "there is no " + order_library() + "; build or install all of kernelgen", {}};
    return path.string();
  }

  Result<std::string> version_of(const std::string& program, std::stop_token stop) {
    if (contains(fs::path(program).filename().string(), ".so")) return fs::path(program).filename().string();
    KERNELGEN_TRY(const auto answer, runner_.run({.command = {program, "--version"},
                                                  .environment = options_.environment,
                                                  .timeout = k_question_timeout},
                                                 std::move(stop)));
    // The first lines name the program and its owner.
    for (const auto line : split_lines(answer.standard_output))
      if (line.starts_with("Version ")) return first_line(line);
    return first_line(answer.standard_output);
  }

  /// The command line inside the sandbox.
  [[nodiscard]] std::vector<std::string> command_of(const SanitizerTool& tool, const std::string& program,
                                                    const std::string& python, const fs::path& job) const {
    std::vector<std::string> command;
    if (tool.kind == SanitizerKind::ComputeSanitizer) {
      command = {program, "--tool",           tool.name, "--target-processes", "application-only", "--print-limit",
                 "100",   "--launch-timeout", "60"};
      // Torch asks the driver questions that it answers with an error.
      if (tool.name == "memcheck") command.insert(command.end(), {"--report-api-errors", "no"});
    } else if (tool.kind == SanitizerKind::Runtime) {
      auto preload = program;
      if (tool.name == k_thread) preload += ':' + order_library();
      // Only Python gets the runtime, not the sandbox that starts it.
      command = {"/usr/bin/env", "LD_PRELOAD=" + preload};
    }
    const auto call = call_command(python, job);
    command.insert(command.end(), call.begin(), call.end());
    return command;
  }

  Result<ProcessOutcome> start(const SanitizerTool& tool, const std::string& program, const SanitizeRequest& request,
                               const fs::path& job, std::stop_token stop) {
    KERNELGEN_TRY(const auto python, find_program(options_.python, options_.environment));
    ProcessRequest process{.command = command_of(tool, program, python, job), .environment = options_.environment};
    set_call_environment(process.environment, options_.installation, request.call);
    set_tool_environment(tool, std::max(request.threads, k_least_threads), process.environment);
    process.timeout = request.timeout;
    process.max_output_bytes = k_max_output_bytes;
    return run_call_sandboxed(
        std::move(process), request.call,
        {.installation = options_.installation, .python = python, .program = program, .work = job.parent_path()},
        runner_, std::move(stop));
  }

  static void set_tool_environment(const SanitizerTool& tool, int threads,
                                   std::map<std::string, std::string>& environment) {
    environment["OMP_NUM_THREADS"] = std::to_string(threads);
    environment["OMP_WAIT_POLICY"] = "passive";
    if (tool.name == k_thread) {
      // Python and torch are not instrumented: what they do with threads is not known, and not asked.
      environment["TSAN_OPTIONS"] =
          "ignore_noninstrumented_modules=1:report_signal_unsafe=0:report_thread_leaks=0:exitcode=0:color=never";
    } else if (tool.name == k_address) {
      environment["ASAN_OPTIONS"] = "detect_leaks=0:halt_on_error=1:color=never:allocator_may_return_null=1";
      environment["UBSAN_OPTIONS"] = "print_stacktrace=0:color=never";
    } else if (tool.kind == SanitizerKind::ComputeSanitizer) {
      // Each tensor is an allocation of its own, so that an access past its end is found.
      environment["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1";
    }
  }

  static void read(const SanitizerTool& tool, const SanitizeRequest& request, const ProcessOutcome& outcome,
                   bool calls_ended, SanitizerRun& run) {
    const auto& candidate = *request.call.candidate;
    if (tool.kind == SanitizerKind::ComputeSanitizer) {
      auto report = read_compute_sanitizer(outcome.standard_output + "\n" + outcome.standard_error);
      run.findings = std::move(report.findings);
      if (!report.is_complete) run.report.reason = "compute-sanitizer wrote no summary";
      // After a call, the same words are the candidate's own.
      if (calls_ended || report.not_started.empty()) return;
      run.report.reason = fmt::format("compute-sanitizer cannot run in the sandbox ({})", report.not_started);
      run.cannot_run = true;
    } else {
      run.findings =
          read_native_findings(outcome.standard_error, source_file_name(candidate.target, candidate.language),
                               fs::path(request.call.artifact).filename().string());
    }
  }

  /// Adds the source lines, and puts the findings into the report.
  static void quote_source(const Candidate& candidate, SanitizerRun& run) {
    const auto lines = split_lines(candidate.source);
    for (auto& one : run.findings) {
      auto& found = one.diagnostic;
      if (found.file == source_file_name(candidate.target, candidate.language) && found.line > 0 &&
          static_cast<std::size_t>(found.line) <= lines.size())
        found.source_line = sanitize_line(trim(lines[static_cast<std::size_t>(found.line) - 1]), 300);
      run.report.findings.push_back(found);
    }
  }

  /// Sets the status from how the process ended.
  static void conclude(const ProcessOutcome& outcome, bool calls_ended, std::chrono::milliseconds timeout,
                       SanitizerRun& run) {
    auto& report = run.report;
    if (!run.findings.empty()) {
      report.status = SanitizerStatus::Found;
      report.reason.clear();
      return;
    }
    run.timed_out = outcome.timed_out;
    if (run.timed_out) {
      report.reason = fmt::format("it was not done within {:.0f} s", std::chrono::duration<double>(timeout).count());
    } else if (!calls_ended && !run.cannot_run) {
      report.reason = fmt::format("its process ended with {}: {}", outcome.to_line(), last_output_line(outcome));
    }
    report.status = report.reason.empty() ? SanitizerStatus::Clean : SanitizerStatus::NotFinished;
  }

  const SanitizersOptions options_;
  ProcessRunner& runner_;
};

}  // namespace

std::vector<SanitizerTool> sanitizer_tools(Target target, const Platform* platform) {
  if (target == Target::Triton && platform == nullptr) return {};
  std::vector<SanitizerTool> tools{{.kind = SanitizerKind::Shaker, .name = "shaker"}};
  if (platform != nullptr) {
    if (!platform->has_compute_sanitizer) return tools;
    for (const char* name : {"memcheck", "racecheck", "synccheck", "initcheck"})
      tools.push_back({.kind = SanitizerKind::ComputeSanitizer, .name = name});
  } else if (target == Target::Cpp) {
    tools.push_back(
        {.name = std::string(k_thread), .build_flags = {"-fsanitize=thread", "-g1"}, .runtime = "libtsan.so"});
    // Arithmetic without a defined result has one in the build that is judged, and its outputs were compared.
    tools.push_back({.name = std::string(k_address),
                     .build_flags = {"-fsanitize=address,undefined",
                                     "-fno-sanitize=signed-integer-overflow,shift,alignment", "-g1"},
                     .runtime = "libasan.so"});
  }
  return tools;
}

std::optional<std::string> find_unordered_openmp(std::string_view object) {
  constexpr std::string_view k_prefix = "GOMP_";
  for (auto at = object.find(k_prefix); at != object.npos; at = object.find(k_prefix, at + 1)) {
    if (at == 0 || object[at - 1] != '\0') continue;
    auto end = at;
    while (end < object.size() && is_name_character(object[end])) ++end;
    const auto name = object.substr(at, end - at);
    // GOMP_4.0 is a version of the library.
    if (end < object.size() && object[end] == '.') continue;
    if (!is_known_openmp(name)) return std::string(name);
  }
  return std::nullopt;
}

std::unique_ptr<Sanitizers> make_sanitizers(SanitizersOptions options, ProcessRunner& runner) {
  return std::make_unique<LocalSanitizers>(std::move(options), runner);
}

}  // namespace v0
}  // namespace kernelgen
