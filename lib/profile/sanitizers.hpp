#pragma once

/// \file
/// Runs a candidate under tools that find races and wrong accesses, in the sandbox.

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/candidate.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/record.hpp>
#include <kernelgen/exec/process.hpp>
#include <kernelgen/platform/platform.hpp>
#include <kernelgen/profile/profiler.hpp>

#include "profile/sanitizer_report.hpp"

namespace kernelgen {
inline namespace v0 {

/// How a tool watches.
enum class SanitizerKind {
  Shaker,            ///< calls again and again while addresses, processors and load change
  Runtime,           ///< a library that the compiler brings, and a build of its own
  ComputeSanitizer,  ///< a program that starts the candidate's process
};

/// One tool.
struct SanitizerTool {
  SanitizerKind kind = SanitizerKind::Runtime;
  /// SanitizerReport::tool.
  std::string name;
  /// Flags of a build of its own; empty: the candidate is watched as it was built.
  std::vector<std::string> build_flags{};
  /// SanitizerKind::Runtime: the library's name, which is loaded before everything else.
  std::string runtime{};
};

/// The tools for candidates of a target on the GPUs of a platform; null: on the CPU. There is none for Triton on the
/// CPU, which an interpreter runs.
[[nodiscard]] std::vector<SanitizerTool> sanitizer_tools(Target target, const Platform* platform);

/// An entry point of GCC's OpenMP runtime in a shared object that libkgen_openmp_order.so does not order; nothing if
/// there is none. `object` is the content of the file.
[[nodiscard]] std::optional<std::string> find_unordered_openmp(std::string_view object);

/// The answer of one tool.
struct SanitizerRun {
  SanitizerReport report;
  /// The findings with the details of the outcomes.
  std::vector<SanitizerFinding> findings;
  /// The tool cannot watch any candidate here, as the report's reason says.
  bool cannot_run = false;
  /// The tool was not done when its time was over.
  bool timed_out = false;
};

/// One candidate to watch.
struct SanitizeRequest {
  /// Task, candidate, precision, shrink and device. `artifact` is the build for the tool.
  ProfileRequest call;
  /// A directory for this candidate alone, which may write in `work` below it: what it compiles for one tool is there
  /// for the next.
  std::filesystem::path directory;
  /// Threads of the candidate's runtime.
  int threads = 1;
  std::chrono::milliseconds timeout{180'000};
};

/// Runs tools. Thread-safe.
class Sanitizers {
 public:
  virtual ~Sanitizers() = default;
  /// MissingTool if the tool is not installed, with what to install.
  virtual Result<void> check_installed(const SanitizerTool& tool, std::stop_token stop) = 0;
  /// Calls the candidate under the tool. A candidate or tool that does not end is SanitizerStatus::NotFinished.
  virtual Result<SanitizerRun> run(const SanitizerTool& tool, const SanitizeRequest& request, std::stop_token stop) = 0;
};

/// Programs and directories of the tools.
struct SanitizersOptions {
  Installation installation;
  /// The Python with torch, as a path or a name on the PATH of `environment`.
  std::string python = "python3";
  /// The compiler of `cpp` candidates, which brings the runtimes.
  std::string compiler = "c++";
  std::map<std::string, std::string> environment;
};

/// Makes the tools of this machine. `runner` must outlive them.
[[nodiscard]] std::unique_ptr<Sanitizers> make_sanitizers(SanitizersOptions options, ProcessRunner& runner);

}  // namespace v0
}  // namespace kernelgen
