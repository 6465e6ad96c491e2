#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <kernelgen/bench/benchmarker.hpp>
#include <kernelgen/core/waiting.hpp>

#include "commands.hpp"

namespace kernelgen::cli {

/// The flags of every command that has kernels judged.
struct EvaluationFlags {
  std::string precision{to_string(PrecisionClass::Strict)};
  std::vector<std::string> shrink;
  std::string launch_prefix;
  std::string spool;
  bool no_wait = false;
  std::string cache_dir;
  double timeout_seconds = 30;
  double task_timeout_seconds = 300;
  /// Those that need no translation are bound to it directly.
  EvaluationOptions options;
};

/// `flags` must outlive the command.
void bind_evaluation_flags(CLI::App& command, EvaluationFlags& flags);

/// What the flags ask for.
[[nodiscard]] Result<EvaluationOptions> evaluation_options(const EvaluationFlags& flags);

/// Whether to wait for what is done elsewhere.
[[nodiscard]] Waiting waiting_of(const EvaluationFlags& flags);

/// A worker behind the launch prefix, or the spool directory.
[[nodiscard]] Result<std::unique_ptr<Benchmarker>> make_benchmarker(const EvaluationFlags& flags, Context& context);

/// A target by its name; the error names the known ones, or says that it is not built yet.
[[nodiscard]] Result<Target> parse_built_target(const std::string& name);

/// The target that --target names, else the one that the file's name, or its source, tells; the error as
/// parse_built_target(), or what to pass.
[[nodiscard]] Result<Target> choose_built_target(const std::string& name, const std::string& path,
                                                 const std::string& source);

/// The most that a flag in seconds takes.
inline constexpr double k_day_seconds = 86400;

/// Seconds of a flag.
[[nodiscard]] std::chrono::milliseconds milliseconds(double seconds);

/// A validator without its description, which would make the help unreadable.
[[nodiscard]] inline CLI::Validator quiet(CLI::Validator validator) { return validator.description(""); }

}  // namespace kernelgen::cli
