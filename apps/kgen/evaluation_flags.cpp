#include "evaluation_flags.hpp"

#include <algorithm>
#include <cmath>

#include <kernelgen/bench/spool.hpp>

#include "support/command_text.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

constexpr const char* k_evaluation = "Evaluation";

const std::vector<std::string> k_targets{"cpp", "cuda", "hip", "hipkittens", "torch", "triton"};

Result<std::pair<std::string, std::int64_t>> parse_shrink(const std::string& text) {
  const auto equals = text.find('=');
  if (equals != text.npos && equals > 0)
    if (const auto value = parse_whole_number(text.substr(equals + 1), {1, std::numeric_limits<std::int64_t>::max()}))
      return std::pair{text.substr(0, equals), *value};
  return Error{ErrorCode::InvalidArgument, "expected NAME=VALUE with a whole number above 0, not " + text};
}

Value shrink_value(std::vector<std::string>& place) {
  auto value = values::texts(place);
  value.store = [&place](const std::string& text) -> Result<void> {
    KERNELGEN_CHECK(parse_shrink(text));
    place.push_back(text);
    return {};
  };
  return value;
}

/// The value of --baseline: names separated by commas, in any number of options. Each kind counts once.
Value baselines_value(std::vector<BaselineKind>& kinds) {
  const std::vector<std::string> names{"compile", "compile-max-autotune"};
  Value value{.completions = names};
  value.store = [&kinds, names](const std::string& text) -> Result<void> {
    for (const auto part : split(text, ',')) {
      const auto kind = parse_baseline_kind(part);
      if (!kind) return unknown_name(std::string(part), names);
      if (std::find(kinds.begin(), kinds.end(), *kind) == kinds.end()) kinds.push_back(*kind);
    }
    return {};
  };
  return value;
}

Option with_rule(Option option, TaskFileRule rule) {
  option.group = k_evaluation;
  option.is_shared = true;
  option.task_file = rule;
  return option;
}

void add_limits(std::vector<Option>& options, EvaluationFlags& flags) {
  options.push_back(with_rule({.name = "--timeout",
                               .value_name = "S",
                               .help = "Limit of one call of the kernel, in seconds",
                               .value = values::seconds(flags.timeout_seconds)},
                              TaskFileRule::Allowed));
  options.push_back(with_rule({.name = "--build-timeout",
                               .value_name = "S",
                               .help = "Limit of everything that is compiled for the kernel",
                               .value = values::seconds(flags.build_timeout_seconds)},
                              TaskFileRule::Allowed));
  options.push_back(with_rule({.name = "--task-timeout",
                               .value_name = "S",
                               .help = "Limit of importing and admitting the task",
                               .value = values::seconds(flags.task_timeout_seconds)},
                              TaskFileRule::Allowed));
  options.push_back(with_rule(
      {.name = "--library-use",
       .value_name = "POLICY",
       .help = "What may do its work: own-kernels, assisted, anything",
       .value =
           values::enumeration(flags.options.library_use, {"own-kernels", "assisted", "anything"}, parse_library_use)},
      TaskFileRule::WeakensVerdict));
  options.push_back(with_rule({.name = "--allow-weak-isolation",
                               .help = "Judge where candidates can reach other processes; labelled",
                               .value = values::flag(flags.options.allow_weak_isolation)},
                              TaskFileRule::WeakensVerdict));
  options.push_back(with_rule({.name = "--threads",
                               .value_name = "N",
                               .help = "Threads for kernel and reference; 0: one per core",
                               .value = values::whole_number(flags.options.threads, {0, 4096})},
                              TaskFileRule::WeakensVerdict));
  options.push_back(with_rule(
      {.name = "--device",
       .value_name = "DEVICE",
       .help = "cpu, amd:emulated, or a GPU by index (0, amd:0), UUID or name; default: a GPU where the target can use "
               "one, else cpu",
       .value = values::text(flags.options.device)},
      TaskFileRule::NotAboutTask));
  options.push_back(with_rule({.name = "--memory-limit",
                               .value_name = "SIZE",
                               .help = "Memory that the kernel may use, such as 512MB",
                               .value = values::size(flags.options.memory_limit)},
                              TaskFileRule::NotAboutTask));
}

void add_places(std::vector<Option>& options, EvaluationFlags& flags) {
  options.push_back(with_rule({.name = "--launch-prefix",
                               .value_name = "COMMAND",
                               .help = "Command that starts the worker, such as \"ssh node\"",
                               .value = values::text(flags.launch_prefix)},
                              TaskFileRule::StartsProgram));
  options.push_back(with_rule({.name = "--spool",
                               .value_name = "DIR",
                               .help = "Have it judged by a worker that serves this directory",
                               .value = values::directory(flags.spool),
                               .excludes = {"--launch-prefix"}},
                              TaskFileRule::WritesFiles));
}

}  // namespace

Option task_option(std::string& task) {
  return {.name = "--problem",
          .aliases = {"--task"},
          .value_name = "TASK",
          .help = "The task: a file, or level3/40 with KERNELBENCH_DIR",
          .value = values::file(task)};
}

Option llm_option(std::string& spec) {
  auto value = values::text(spec);
  value.completions = {"openai:", "gateway", "command:", "mailbox:", "replay:"};
  return {.name = "--llm",
          .value_name = "SPEC",
          .help = "The model: openai:MODEL[@URL], gateway, command:..., mailbox:DIR, replay:FILE",
          .value = std::move(value),
          .is_shared = true,
          .task_file = TaskFileRule::StartsProgram};
}

Option repeated_llm_option(std::vector<std::string>& specs) {
  std::string unused;
  auto option = llm_option(unused);
  auto value = values::texts(specs);
  value.completions = std::move(option.value.completions);
  option.value = std::move(value);
  option.help += "; may be repeated";
  option.is_repeatable = true;
  return option;
}

Option prompts_option(std::string& prompts) {
  return {.name = "--prompts",
          .value_name = "DIR",
          .help = "Templates here replace those of the same name",
          .value = values::directory(prompts),
          .is_shared = true};
}

Option gpu_option(std::string& gpu, std::string help) {
  return {.name = "--gpu",
          .value_name = "NAME",
          .help = std::move(help),
          .value = values::text(gpu),
          .is_shared = true,
          .task_file = TaskFileRule::Allowed};
}

Option temperature_option(double& temperature) {
  constexpr double k_most = 10;
  return {.name = "--temperature",
          .value_name = "X",
          .help = "Sampling temperature of the model",
          .value = values::number(temperature, {0, k_most}),
          .is_shared = true,
          .task_file = TaskFileRule::Allowed};
}

Option precision_option(PrecisionClass& precision) {
  return {.name = "--precision",
          .value_name = "CLASS",
          .help = "strict, default, tf32, fp16 or bf16",
          .value = values::enumeration(precision, {"strict", "default", "tf32", "fp16", "bf16"}, parse_precision),
          .is_shared = true,
          .task_file = TaskFileRule::WeakensVerdict};
}

Option shrink_option(std::vector<std::string>& shrink, std::string help) {
  return {.name = "--shrink",
          .value_name = "NAME=VALUE",
          .help = std::move(help),
          .value = shrink_value(shrink),
          .is_repeatable = true,
          .is_shared = true,
          .task_file = TaskFileRule::WeakensVerdict};
}

Option python_option(std::string& python, const Environment& environment) {
  return {.name = "--python",
          .value_name = "PROGRAM",
          .help = "The Python that has torch; KGEN_PYTHON, else python3",
          .value = values::program(python),
          .variable = "KGEN_PYTHON",
          .variable_value = environment.python,
          .is_shared = true,
          .task_file = TaskFileRule::StartsProgram};
}

Option cache_dir_option(std::string& cache_dir, std::string help) {
  return {.name = "--cache-dir",
          .value_name = "DIR",
          .help = std::move(help),
          .value = values::directory(cache_dir),
          .is_shared = true,
          .task_file = TaskFileRule::WritesFiles};
}

Option no_wait_option(EvaluationFlags& flags, std::string help) {
  return {.name = "--no-wait", .help = std::move(help), .value = values::flag(flags.no_wait), .is_shared = true};
}

Value target_value(std::optional<Target>& target) { return values::enumeration(target, k_targets, parse_target); }

const std::vector<std::string>& prompt_kind_names() {
  static const auto k_names = [] {
    std::vector<std::string> names;
    names.reserve(k_prompt_kinds.size());
    for (const auto kind : k_prompt_kinds) names.emplace_back(to_string(kind));
    return names;
  }();
  return k_names;
}

Option baseline_option(EvaluationFlags& flags) {
  return {.name = "--baseline",
          .value_name = "LIST",
          .help = "Compare with torch.compile too: compile, compile-max-autotune",
          .value = baselines_value(flags.options.baselines.kinds),
          .is_repeatable = true,
          .task_file = TaskFileRule::Allowed};
}

Option baseline_timeout_option(EvaluationFlags& flags) {
  return {.name = "--baseline-timeout",
          .value_name = "S",
          .help = "Limit of compiling and checking a baseline",
          .value = values::seconds(flags.baseline_timeout_seconds),
          .task_file = TaskFileRule::Allowed};
}

std::chrono::milliseconds to_milliseconds(double seconds) {
  constexpr double k_per_second = 1000;
  return std::chrono::milliseconds(std::llround(seconds * k_per_second));
}

void add_evaluation_options(std::vector<Option>& options, EvaluationFlags& flags, const Environment& environment) {
  constexpr double k_most_tolerance = 1e6;
  options.push_back(with_rule(precision_option(flags.options.precision), TaskFileRule::WeakensVerdict));
  options.push_back(with_rule({.name = "--rtol",
                               .value_name = "X",
                               .help = "Relative tolerance; looser than standard is recorded",
                               .value = values::number(flags.options.rtol, {0, k_most_tolerance})},
                              TaskFileRule::WeakensVerdict));
  options.push_back(with_rule({.name = "--atol",
                               .value_name = "X",
                               .help = "Absolute tolerance, as a fraction of the reference's rms",
                               .value = values::number(flags.options.atol, {0, k_most_tolerance})},
                              TaskFileRule::WeakensVerdict));
  add_limits(options, flags);
  options.push_back(
      with_rule(shrink_option(flags.shrink, "Replace a constant of the task file; labelled; may be repeated"),
                TaskFileRule::WeakensVerdict));
  add_places(options, flags);
  options.push_back(with_rule(python_option(flags.python, environment), TaskFileRule::StartsProgram));
  options.push_back(
      with_rule(cache_dir_option(flags.cache_dir, "Compiled kernels and admitted tasks; XDG_CACHE_HOME/kernelgen"),
                TaskFileRule::WritesFiles));
}

Result<EvaluationOptions> evaluation_options(const EvaluationFlags& flags) {
  EvaluationOptions options = flags.options;
  options.call_timeout = to_milliseconds(flags.timeout_seconds);
  options.build_timeout = to_milliseconds(flags.build_timeout_seconds);
  options.task_timeout = to_milliseconds(flags.task_timeout_seconds);
  options.baselines.timeout = to_milliseconds(flags.baseline_timeout_seconds);
  for (const auto& text : flags.shrink) {
    KERNELGEN_TRY(auto shrink, parse_shrink(text));
    options.shrink.push_back(std::move(shrink));
  }
  return options;
}

Waiting waiting_of(const EvaluationFlags& flags) { return flags.no_wait ? Waiting::Return : Waiting::Wait; }

Result<std::unique_ptr<Benchmarker>> make_benchmarker(const EvaluationFlags& flags, Context& context) {
  if (!flags.spool.empty())
    return make_spool_benchmarker({.directory = flags.spool, .waiting = waiting_of(flags)}).context("--spool");
  KERNELGEN_TRY(auto installation, context.find_installation());
  KERNELGEN_TRY(auto cache_dir, choose_cache_dir(flags.cache_dir, context.environment));
  KERNELGEN_TRY(auto prefix, split_command(flags.launch_prefix).context("--launch-prefix"));
  return context.make_benchmarker({.installation = std::move(installation),
                                   .launch_prefix = std::move(prefix),
                                   .python = flags.python,
                                   .cache_dir = std::move(cache_dir)});
}

namespace {

bool has_line_with(std::string_view text, std::string_view beginning) {
  const auto lines = split(text, '\n');
  return std::any_of(lines.begin(), lines.end(), [&](auto line) {
    return line.starts_with(beginning) && (line.size() == beginning.size() || line[beginning.size()] == '(' ||
                                           line[beginning.size()] == ':' || line[beginning.size()] == ' ');
  });
}

bool is_task(std::string_view python) {
  return has_line_with(python, "class Model") && has_line_with(python, "def get_inputs");
}

}  // namespace

Result<std::string> read_code(const std::string& option, const std::string& path) {
  KERNELGEN_TRY(auto source, read_file(path, k_max_source_bytes).context(option));
  if (!path.ends_with(".py") || !is_task(source) || has_line_with(source, "class ModelNew")) return source;
  return Error{ErrorCode::InvalidArgument, option + ": " + path +
                                               " is a task (class Model, get_inputs), and a kernel was expected; "
                                               "--problem names the task"};
}

Result<TaskSource> read_problem(const std::string& name, const Environment& environment) {
  KERNELGEN_TRY(auto task,
                load_task_source(name, {.kernelbench_dir = environment.kernelbench_dir}).context("--problem"));
  const auto target = guess_target(task.path, task.text);
  const bool is_kernel = (target && is_native(*target)) || has_line_with(task.text, "class ModelNew");
  if (!is_kernel || is_task(task.text)) return task;
  return Error{ErrorCode::InvalidArgument,
               "--problem: " + name +
                   " is a kernel, and a task was expected: a Python file with class Model and get_inputs(); --code "
                   "names the kernel"};
}

Result<Target> choose_target(std::optional<Target> named, const std::string& path, const std::string& source) {
  if (const auto target = named ? named : guess_target(path, source)) return *target;
  return Error{ErrorCode::InvalidArgument, "cannot tell the target of " + path + " from its name; pass --target"};
}

}  // namespace kernelgen::cli
