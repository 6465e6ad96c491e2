#pragma once

/// \file
/// How kernelgen_profile is started, a Python process that calls one module: for profilers and sanitizers.

#include <filesystem>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include <kernelgen/core/installation.hpp>
#include <kernelgen/profile/profiler.hpp>

namespace kernelgen {
inline namespace v0 {

/// The part of a job that a ProfileRequest does not have.
struct CallJob {
  /// "timeline", "counters", "watched", "shaken".
  std::string mode;
  int warmups = 0;
  int calls = 1;
  /// Time limit of the calls together, in the mode "shaken".
  double seconds = 0;
  /// The file that the process writes at its end.
  std::string result;
};

/// Writes the input of the process to `path`, and returns that path.
[[nodiscard]] Result<std::filesystem::path> write_call_job(const ProfileRequest& request, const CallJob& job,
                                                           const std::filesystem::path& path);

/// The command line of the process.
[[nodiscard]] std::vector<std::string> call_command(const std::string& python, const std::filesystem::path& job);

/// Adds what the process needs to its environment.
void set_call_environment(std::map<std::string, std::string>& environment, const Installation& installation,
                          const ProfileRequest& request);

/// The folder of torch's extensions below CallSandbox::work.
inline constexpr const char* k_extensions = "torch";

/// The place of a process with the rights of a candidate.
struct CallSandbox {
  const Installation& installation;
  /// The Python with torch, and the program that starts it; their toolchains can be read. Empty: there is none.
  std::string python;
  std::string program{};
  /// More files and folders that can be read.
  std::vector<std::string> readable{};
  /// The directory that it may write to, where the module also compiles. The sandbox's report lies beside it.
  std::filesystem::path work;
};

/// Runs the process in the sandbox, where it sees toolchains, the module's artifact and its GPU. Errors are those of
/// run_sandboxed().
[[nodiscard]] Result<ProcessOutcome> run_call_sandboxed(ProcessRequest process, const ProfileRequest& request,
                                                        const CallSandbox& place, ProcessRunner& runner,
                                                        std::stop_token stop);

/// The last line of the process's output: usually the one that matters.
[[nodiscard]] std::string last_output_line(const ProcessOutcome& outcome);

}  // namespace v0
}  // namespace kernelgen
