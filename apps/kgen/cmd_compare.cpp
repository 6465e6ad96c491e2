#include <algorithm>
#include <array>
#include <ostream>

#include <kernelgen/report/compare.hpp>

#include "commands.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> directories;
  std::string by;
  std::string page;
  bool json = false;
};

constexpr std::array<ComparedProperty, 4> k_properties{ComparedProperty::Model, ComparedProperty::Target,
                                                       ComparedProperty::Policy, ComparedProperty::Name};

Result<ComparisonReport> compare_wanted(const CompareOptions& options) {
  const auto& directories = options.directories;
  if (options.by.empty() && directories.size() == 1)
    return Error{ErrorCode::InvalidArgument,
                 "one directory alone is compared by a property of its runs, such as --by model"};
  if (options.by.empty()) return compare_directories({directories.begin(), directories.end()});
  if (directories.size() > 1) return Error{ErrorCode::InvalidArgument, "--by compares the runs of a single directory"};
  return compare_within(directories.front(), *std::find_if(k_properties.begin(), k_properties.end(),
                                                           [&](auto each) { return to_string(each) == options.by; }));
}

Result<ExitCode> compare(const CompareOptions& options, Context& context) {
  KERNELGEN_TRY(const auto report, compare_wanted(options));
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
                      {.name = "--by",
                       .value_name = "PROPERTY",
                       .help = "Compare the runs of one directory by this: model, target, policy or name",
                       .value = values::choice(options->by, {"model", "target", "policy", "name"})},
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
