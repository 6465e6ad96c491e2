#pragma once

/// \file
/// The commands of kgen. Each describes its options and makes one call of the library.

#include <functional>
#include <iosfwd>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/exec/process.hpp>
#include <kernelgen/llm/clients.hpp>
#include <kernelgen/llm/providers.hpp>

#include "command_line.hpp"
#include "console.hpp"
#include "environment.hpp"
#include "exit_codes.hpp"

namespace kernelgen::cli {

/// Maximal size of the source file of a kernel.
inline constexpr std::size_t k_max_source_bytes = 16u << 20;

/// The environment and services of a command. Commands borrow it; tests replace it.
struct Context {
  Environment environment;
  std::ostream& out;
  std::ostream& err;
  Terminal out_terminal;
  Terminal err_terminal;
  std::function<Result<std::unique_ptr<Benchmarker>>(WorkerBenchmarkerOptions)> make_benchmarker;
  std::function<Result<Installation>()> find_installation;
  /// Calls make_llm_client with this process's API keys.
  std::function<Result<std::unique_ptr<LLMClient>>(std::string_view spec, Waiting, ReplayMode)> make_llm;
  /// The known providers, with those of the user's file.
  std::function<Result<std::vector<Provider>>()> find_providers;
  /// Whether a variable of the environment is set and not empty. Keys are not in `environment`.
  std::function<bool(const std::string& variable)> is_set;
  ProcessRunner& processes;
  std::stop_token stop;
};

/// Descriptions of the commands, which borrow `context`.
[[nodiscard]] Command make_run_command(Context& context);
[[nodiscard]] Command make_batch_command(Context& context);
[[nodiscard]] Command make_generate_command(Context& context);
[[nodiscard]] Command make_eval_command(Context& context);
[[nodiscard]] Command make_prompt_command(Context& context);
[[nodiscard]] Command make_detect_command(Context& context);
[[nodiscard]] Command make_profile_command(Context& context);
[[nodiscard]] Command make_monitor_command(Context& context);
[[nodiscard]] Command make_report_command(Context& context);
[[nodiscard]] Command make_compare_command(Context& context);
[[nodiscard]] Command make_audit_command(Context& context);
[[nodiscard]] Command make_import_command(Context& context);
[[nodiscard]] Command make_export_command(Context& context);
[[nodiscard]] Command make_models_command(Context& context);
[[nodiscard]] Command make_devices_command(Context& context);
[[nodiscard]] Command make_doctor_command(Context& context);
[[nodiscard]] Command make_selftest_command(Context& context);
[[nodiscard]] Command make_worker_command(Context& context);
/// Commands that print completion scripts and the manual page, which cover all commands.
[[nodiscard]] Command make_completion_command(Context& context);
[[nodiscard]] Command make_man_command(Context& context);

/// All commands in the order of the help, with the options that every command has.
[[nodiscard]] std::vector<Command> make_commands(Context& context);

/// Runs kgen within this process: parses the arguments, runs the command, and reports an error as one line on
/// context.err.
[[nodiscard]] int run_kgen(const std::vector<std::string>& arguments, Context& context);

}  // namespace kernelgen::cli
