#include <ostream>

#include <kernelgen/report/report.hpp>

#include "commands.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct ReportOptions {
  std::string directory;
  bool json = false;
};

Result<ExitCode> run(const ReportOptions& options, Context& context) {
  KERNELGEN_TRY(const auto runs, read_results(options.directory));
  // The table comes first: it is shown even where the reports cannot be written, as in results of another user.
  const auto& terminal = context.out_terminal;
  context.out << (options.json ? summary_json(runs) : summary_table(runs, terminal.interactive ? terminal.width : 0));
  KERNELGEN_CHECK(write_reports(options.directory));
  return ExitCode::Success;
}

}  // namespace

void add_report_command(CLI::App& app, Context& context, Action& action) {
  auto* command = app.add_subcommand("report", "Sum up a results directory: a table here, files there");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option("directory", options->directory, "The results directory")->required()->type_name("DIR");
  command->add_flag("--json", options->json, "Print the content of summary.json instead of the table");
  command->callback([options, &context, &action] { action = [options, &context] { return run(*options, context); }; });
}

}  // namespace kernelgen::cli
