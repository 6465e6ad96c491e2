#include <ostream>

#include <kernelgen/report/report.hpp>

#include "commands.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct ReportOptions {
  std::string directory = "results";
  bool json = false;
};

Result<ExitCode> run(const ReportOptions& options, Context& context) {
  const auto installation = context.find_installation();
  // Written first, because then each journal is read once: what it adds up to is kept.
  const auto written =
      installation ? write_reports(options.directory, installation->report_dir) : write_reports(options.directory);
  // The table is shown even if the reports cannot be written, as in results of another user.
  KERNELGEN_TRY(const auto runs, read_results(options.directory));
  const auto& terminal = context.out_terminal;
  context.out << (options.json ? summary_json(runs) : summary_table(runs, terminal.interactive ? terminal.width : 0));
  KERNELGEN_CHECK(written);
  KERNELGEN_CHECK(installation);
  return ExitCode::Success;
}

}  // namespace

Command make_report_command(Context& context) {
  const auto options = std::make_shared<ReportOptions>();
  return {.name = "report",
          .summary = "Sum up a results directory: a table here, files there",
          .options = {{.name = "directory",
                       .value_name = "DIR",
                       .help = "The results directory",
                       .value = values::directory(options->directory)},
                      {.name = "--json",
                       .help = "Print the content of summary.json instead of the table",
                       .value = values::flag(options->json)}},
          .run = [options, &context] { return run(*options, context); }};
}

}  // namespace kernelgen::cli
