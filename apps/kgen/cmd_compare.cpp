#include <ostream>

#include <kernelgen/report/compare.hpp>

#include "commands.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> directories;
  std::string page;
  bool json = false;
};

Result<ExitCode> compare(const CompareOptions& options, Context& context) {
  KERNELGEN_TRY(const auto report, compare_directories({options.directories.begin(), options.directories.end()}));
  const auto& terminal = context.out_terminal;
  context.out << (options.json ? comparison_json(report)
                               : comparison_table(report, terminal.interactive ? terminal.width : 0));
  if (options.page.empty()) return ExitCode::Success;
  KERNELGEN_TRY(const auto installation, context.find_installation());
  KERNELGEN_CHECK(write_comparison_page(report, installation.report_dir, options.page).context("--html"));
  return ExitCode::Success;
}

}  // namespace

Command make_compare_command(Context& context) {
  const auto options = std::make_shared<CompareOptions>();
  return {.name = "compare",
          .summary = "Compare results directories task by task: models, prompts, policies, devices",
          .options = {{.name = "directory",
                       .value_name = "DIR",
                       .help = "Results directories; the others are compared with the first one",
                       .value = values::directories(options->directories),
                       .is_required = true,
                       .is_repeatable = true},
                      {.name = "--html",
                       .value_name = "FILE",
                       .help = "Write the comparison as a page for a browser, too",
                       .value = values::file(options->page)},
                      {.name = "--json",
                       .help = "Print the comparison as JSON instead of the table",
                       .value = values::flag(options->json)}},
          .run = [options, &context] { return compare(*options, context); }};
}

}  // namespace kernelgen::cli
