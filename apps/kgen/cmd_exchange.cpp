#include <fmt/format.h>

#include <filesystem>
#include <ostream>

#include <kernelgen/report/kernelbench_exchange.hpp>
#include <kernelgen/report/report.hpp>

#include "commands.hpp"
#include "exchange_options.hpp"
#include "support/files.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct ImportOptions {
  std::string format;
  std::string results = "results";
  std::string run_directory;
  std::string name;
  std::string model;
  std::string records;
  KernelBenchFlags kernelbench;
};

struct ExportOptions {
  std::string format;
  std::string results;
  std::string output;
  std::optional<int> level;
};

std::string count_text(int count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Tells what was left out, and what came of it.
ExitCode conclude(const KernelBenchExchange& outcome, const char* done, const std::string& where, Context& context) {
  constexpr std::size_t k_max_shown_text = 400;
  for (const auto& line : outcome.left_out) context.err << "kgen: " << sanitize_line(line, k_max_shown_text) << '\n';
  context.out << fmt::format("{} {} of {}, {} with a verdict: {}\n", done, count_text(outcome.kernels, "kernel"),
                             count_text(outcome.tasks, "task"), outcome.judged, sanitize_line(where, k_max_shown_text));
  if (outcome.kernels == 0) return ExitCode::NotCorrect;
  return outcome.left_out.empty() ? ExitCode::Success : ExitCode::BelowTarget;
}

Result<ExitCode> import_run(const ImportOptions& options, Context& context) {
  KernelBenchImport request{.run_directory = options.run_directory,
                            .results_directory = options.results,
                            .name = options.name,
                            .model = options.model,
                            .locator = options.kernelbench.locator(),
                            .records_directory = options.records};
  std::error_code ignored;
  if (!options.records.empty() && !std::filesystem::is_directory(options.records, ignored))
    return Error{ErrorCode::NotFound, "--records: " + options.records + " is no directory"};
  KERNELGEN_TRY(request.baseline_times, options.kernelbench.read_baseline_times());
  KERNELGEN_TRY(const auto outcome, import_kernelbench_run(request));
  if (outcome.kernels > 0) KERNELGEN_CHECK(write_reports(options.results));
  return conclude(outcome, "imported", options.results, context);
}

Result<ExitCode> export_results(const ExportOptions& options, Context& context) {
  KERNELGEN_CHECK(make_directories(options.output).context("--output"));
  KERNELGEN_TRY(const auto outcome,
                export_kernelbench_run(
                    {.results_directory = options.results, .run_directory = options.output, .level = options.level}));
  return conclude(outcome, "exported", options.output, context);
}

Option format_argument(std::string& format) {
  return {.name = "format",
          .value_name = "FORMAT",
          .help = "kernelbench",
          .value = values::choice(format, {"kernelbench"}),
          .is_required = true};
}

}  // namespace

Command make_import_command(Context& context) {
  const auto options = std::make_shared<ImportOptions>();
  return {.name = "import",
          .summary = "Make a results directory of a run folder of KernelBench",
          .options = {format_argument(options->format),
                      {.name = "directory",
                       .value_name = "RUN_DIR",
                       .help = "The run folder: level_X_problem_Y_sample_Z_kernel.py, eval_results.json",
                       .value = values::directory(options->run_directory),
                       .is_required = true},
                      {.name = "--results",
                       .value_name = "DIR",
                       .help = "Results directory",
                       .value = values::directory(options->results)},
                      {.name = "--name",
                       .value_name = "NAME",
                       .help = "Name of further runs of the same tasks",
                       .value = values::text(options->name)},
                      {.name = "--model",
                       .value_name = "NAME",
                       .help = "The model that wrote the kernels; default: the folder's name",
                       .value = values::text(options->model)},
                      {.name = "--records",
                       .value_name = "DIR",
                       .help = "Records of kgen audit: kernels with one count as judged",
                       .value = values::directory(options->records)},
                      kernelbench_option(options->kernelbench, context.environment),
                      baseline_times_option(options->kernelbench)},
          .run = [options, &context] { return import_run(*options, context); }};
}

Command make_export_command(Context& context) {
  const auto options = std::make_shared<ExportOptions>();
  return {.name = "export",
          .summary = "Make a run folder of KernelBench of a results directory",
          .options = {format_argument(options->format),
                      {.name = "directory",
                       .value_name = "DIR",
                       .help = "The results directory",
                       .value = values::directory(options->results),
                       .is_required = true},
                      {.name = "--output",
                       .value_name = "RUN_DIR",
                       .help = "The run folder; it must hold no run",
                       .value = values::directory(options->output),
                       .is_required = true},
                      {.name = "--level",
                       .value_name = "N",
                       .help = "Tasks of this level; needed where the results have several",
                       .value = values::whole_number(options->level, {1, 99})}},
          .run = [options, &context] { return export_results(*options, context); }};
}

}  // namespace kernelgen::cli
