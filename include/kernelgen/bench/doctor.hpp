#pragma once

/// \file
/// Examines what this machine can do, what is missing, and the commands that fix it.

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/api.hpp>
#include <kernelgen/core/installation.hpp>
#include <kernelgen/core/result.hpp>
#include <kernelgen/exec/process.hpp>
#include <kernelgen/llm/llm_client.hpp>

namespace kernelgen {
inline namespace KERNELGEN_API v0 {

/// The severity of a finding.
enum class DoctorStatus {
  Ok,
  Limited,  ///< evaluations work, with less than there could be; the detail says with what less
  Missing,  ///< evaluations do not work
};
/// "ok", "limited", "missing".
[[nodiscard]] std::string_view to_string(DoctorStatus status);

/// One finding.
struct DoctorFinding {
  /// "compiler", "torch", ...; stable.
  std::string name;
  DoctorStatus status = DoctorStatus::Ok;
  /// The finding in one line.
  std::string detail;
  /// A command that fixes the problem; empty if there is none.
  std::string remedy;
};

/// Programs and directories that are examined.
struct DoctorOptions {
  /// The result of find_installation(); its error becomes a finding.
  Result<Installation> installation = Error{ErrorCode::NotFound, "not looked for"};
  std::string compiler = "c++";
  std::string python = "python3";
  /// Path of nvcc. Empty: it is searched for in the usual places, as by NvccCompilerOptions::nvcc.
  std::string nvcc;
  /// The cache directory; created if it does not exist, to check that this works.
  std::string cache_dir;
  /// Directory of KernelBench; empty: none was named.
  std::string kernelbench_dir;
  /// Environment of the programs that are started; see clean_environment().
  std::map<std::string, std::string> environment;
  /// The directory that holds sys/, dev/ and proc/, to look for cards without a driver, nodes that are closed, and what
  /// GPUs do. Another one than "/" is for tests.
  std::string root = "/";
};

/// Looks at everything an evaluation needs. Starts the compiler and Python (importing torch takes seconds).
/// An Error only on cancellation: whatever is broken is a finding.
[[nodiscard]] Result<std::vector<DoctorFinding>> examine_machine(const DoctorOptions& options, ProcessRunner& runner,
                                                                 std::stop_token stop);

/// Makes a client from a text such as "openai:gpt-5"; see make_llm_client().
using LLMClientFactory = std::function<Result<std::unique_ptr<LLMClient>>(std::string_view spec)>;

/// Checks whether a model answers. A server or a program gets one short request, which may cost a few tokens. A
/// mailbox, which a person answers, and a recording are only inspected. An Error only on cancellation.
[[nodiscard]] Result<DoctorFinding> examine_model(std::string_view spec, const LLMClientFactory& make_client,
                                                  std::stop_token stop);

/// Checks whether a spool directory exists, is writable and is served by a worker, and counts its waiting requests.
[[nodiscard]] DoctorFinding examine_spool(const std::string& directory);

}  // namespace v0
}  // namespace kernelgen
