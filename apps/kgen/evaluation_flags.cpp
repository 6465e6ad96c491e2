#include "evaluation_flags.hpp"

#include <cmath>

#include <kernelgen/bench/spool.hpp>

#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

Result<std::pair<std::string, std::int64_t>> parse_shrink(const std::string& text) {
  const auto equals = text.find('=');
  std::int64_t value = 0;
  if (equals == text.npos || equals == 0 || !CLI::detail::lexical_cast(text.substr(equals + 1), value) || value < 1)
    return Error{ErrorCode::InvalidArgument, "--shrink takes NAME=VALUE with a whole number above 0, not " + text};
  return std::pair{text.substr(0, equals), value};
}

}  // namespace

std::chrono::milliseconds milliseconds(double seconds) {
  constexpr double k_per_second = 1000;
  return std::chrono::milliseconds(std::llround(seconds * k_per_second));
}

void bind_evaluation_flags(CLI::App& command, EvaluationFlags& flags) {
  command.add_option("--precision", flags.precision, "strict, default, tf32, fp16 or bf16")
      ->type_name("CLASS")
      ->capture_default_str();
  command.add_option("--rtol", flags.options.rtol, "Relative tolerance; looser than standard is recorded")
      ->type_name("X")
      ->check(quiet(CLI::NonNegativeNumber));
  command.add_option("--atol", flags.options.atol, "Absolute tolerance, as a fraction of the reference's rms")
      ->type_name("X")
      ->check(quiet(CLI::NonNegativeNumber));
  command.add_option("--timeout", flags.timeout_seconds, "Limit of one call of the kernel, in seconds")
      ->type_name("S")
      ->check(quiet(CLI::Range(0.001, k_day_seconds)))
      ->capture_default_str();
  command.add_option("--task-timeout", flags.task_timeout_seconds, "Limit of importing and admitting the task")
      ->type_name("S")
      ->check(quiet(CLI::Range(0.001, k_day_seconds)))
      ->capture_default_str();
  command.add_option("--threads", flags.options.threads, "Threads for kernel and reference; 0: one per core")
      ->type_name("N")
      ->check(quiet(CLI::Range(0, 4096)))
      ->capture_default_str();
  command.add_option("--device", flags.options.device, "cpu, or a GPU by index, UUID or name; default: what fits")
      ->type_name("DEVICE");
  command.add_option("--memory-limit", flags.options.memory_limit, "Memory of the kernel: 512MB, 8GB (the default)")
      ->type_name("SIZE")
      ->transform(quiet(CLI::AsSizeValue(false)));
  command.add_option("--shrink", flags.shrink, "Replace a constant of the task file; labelled; may be repeated")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  auto* prefix =
      command.add_option("--launch-prefix", flags.launch_prefix, "Start the worker behind this, such as \"ssh node\"")
          ->type_name("COMMAND");
  command.add_option("--spool", flags.spool, "Have it judged by a worker that serves this directory")
      ->type_name("DIR")
      ->excludes(prefix);
  command.add_option("--cache-dir", flags.cache_dir, "Compiled kernels and admitted tasks; XDG_CACHE_HOME/kernelgen")
      ->type_name("DIR");
}

Result<EvaluationOptions> evaluation_options(const EvaluationFlags& flags) {
  EvaluationOptions options = flags.options;
  const auto precision = parse_precision(flags.precision);
  if (!precision) {
    return Error{ErrorCode::InvalidArgument,
                 "unknown precision " + flags.precision + "; classes are strict, default, tf32, fp16, bf16"};
  }
  options.precision = *precision;
  options.call_timeout = milliseconds(flags.timeout_seconds);
  options.task_timeout = milliseconds(flags.task_timeout_seconds);
  for (const auto& text : flags.shrink) {
    KERNELGEN_TRY(auto shrink, parse_shrink(text));
    options.shrink.push_back(std::move(shrink));
  }
  return options;
}

Waiting waiting_of(const EvaluationFlags& flags) { return flags.no_wait ? Waiting::Return : Waiting::Wait; }

Result<std::unique_ptr<Benchmarker>> make_benchmarker(const EvaluationFlags& flags, Context& context) {
  if (!flags.spool.empty()) return make_spool_benchmarker({.directory = flags.spool, .waiting = waiting_of(flags)});
  KERNELGEN_TRY(auto installation, context.find_installation());
  KERNELGEN_TRY(auto cache_dir, choose_cache_dir(flags.cache_dir, context.environment));
  return context.make_benchmarker({.installation = std::move(installation),
                                   .launch_prefix = CLI::detail::split_up(flags.launch_prefix),
                                   .python = context.environment.python,
                                   .cache_dir = std::move(cache_dir)});
}

Result<Target> parse_built_target(const std::string& name) {
  const auto target = parse_target(name);
  if (!target) {
    return Error{ErrorCode::InvalidArgument,
                 "unknown target " + name + "; targets are cpp, cuda, hip, hipkittens, triton, torch"};
  }
  if (*target != Target::Hip && *target != Target::Hipkittens) return *target;
  return Error{ErrorCode::Unsupported, "target " + name + " is not built yet; cpp, cuda, torch and triton are"};
}

Result<Target> choose_built_target(const std::string& name, const std::string& path, const std::string& source) {
  if (!name.empty()) return parse_built_target(name);
  if (const auto guess = guess_target(path, source)) return parse_built_target(std::string(to_string(*guess)));
  return Error{ErrorCode::InvalidArgument, "cannot tell the target of " + path + " from its name; pass --target"};
}

}  // namespace kernelgen::cli
