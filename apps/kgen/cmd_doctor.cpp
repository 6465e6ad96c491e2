#include <algorithm>
#include <ostream>

#include <kernelgen/bench/doctor.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "render.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct DoctorCommandOptions {
  std::string python;
  std::string cache_dir;
  bool json = false;
};

Result<ExitCode> run(const DoctorCommandOptions& options, Context& context) {
  DoctorOptions doctor;
  doctor.installation = context.find_installation();
  if (!options.python.empty()) doctor.python = options.python;
  KERNELGEN_TRY(doctor.cache_dir, choose_cache_dir(options.cache_dir, context.environment));
  doctor.kernelbench_dir = context.environment.kernelbench_dir;
  doctor.environment = context.environment.clean;
  KERNELGEN_TRY(const auto findings, examine_machine(doctor, context.processes, context.stop));
  context.out << (options.json ? findings_to_json(findings)
                               : render_findings(findings, {.color = context.out_terminal.color}));
  const bool missing = std::any_of(findings.begin(), findings.end(),
                                   [](const auto& finding) { return finding.status == DoctorStatus::Missing; });
  return missing ? ExitCode::MachineLacks : ExitCode::Success;
}

}  // namespace

Command make_doctor_command(Context& context) {
  const auto options = std::make_shared<DoctorCommandOptions>();
  return {.name = "doctor",
          .summary = "What this machine can do, and how to mend what is missing",
          .options = {{.name = "--json", .help = "Print the findings as JSON", .value = flag(options->json)},
                      python_option(options->python, context.environment),
                      cache_dir_option(options->cache_dir, "The cache to look at; XDG_CACHE_HOME/kernelgen")},
          .run = [options, &context] { return run(*options, context); }};
}

}  // namespace kernelgen::cli
