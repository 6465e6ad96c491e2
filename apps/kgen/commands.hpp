#pragma once

/// \file
/// The commands of kgen: options of the command line bound to one call of the library each.

#include <CLI/CLI.hpp>
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

#include "console.hpp"
#include "environment.hpp"
#include "exit_codes.hpp"

namespace kernelgen::cli {

/// Of a kernel's source file.
inline constexpr std::size_t k_max_source_bytes = 16u << 20;

/// The world a command works in. Borrowed by it; tests bring their own.
struct Context {
  Environment environment;
  std::ostream& out;
  std::ostream& err;
  Terminal out_terminal;
  Terminal err_terminal;
  std::function<Result<std::unique_ptr<Benchmarker>>(WorkerBenchmarkerOptions)> make_benchmarker;
  std::function<Result<Installation>()> find_installation;
  /// make_llm_client with this process's keys.
  std::function<Result<std::unique_ptr<LLMClient>>(std::string_view spec, Waiting, ReplayMode)> make_llm;
  ProcessRunner& processes;
  std::stop_token stop;
};

/// What a chosen command does once the whole command line was understood.
using Action = std::function<Result<ExitCode>()>;

/// Each adds its command to `app` and sets `action` when it was chosen. `context` and `action` must outlive `app`.
void add_eval_command(CLI::App& app, Context& context, Action& action);
void add_prompt_command(CLI::App& app, Context& context, Action& action);
void add_run_command(CLI::App& app, Context& context, Action& action);
void add_generate_command(CLI::App& app, Context& context, Action& action);
void add_profile_command(CLI::App& app, Context& context, Action& action);
void add_report_command(CLI::App& app, Context& context, Action& action);
void add_worker_command(CLI::App& app, Context& context, Action& action);
void add_detect_command(CLI::App& app, Context& context, Action& action);
void add_devices_command(CLI::App& app, Context& context, Action& action);
void add_doctor_command(CLI::App& app, Context& context, Action& action);

/// kgen without a process around it: parses, runs, and reports errors as one line on context.err.
[[nodiscard]] int run_kgen(const std::vector<std::string>& arguments, Context& context);

}  // namespace kernelgen::cli
