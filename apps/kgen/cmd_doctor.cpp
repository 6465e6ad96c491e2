#include <algorithm>
#include <ostream>

#include <kernelgen/bench/doctor.hpp>

#include "commands.hpp"
#include "render.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct DoctorCommandOptions {
  std::string cache_dir;
  bool json = false;
};

Result<ExitCode> run(const DoctorCommandOptions& options, Context& context) {
  DoctorOptions doctor;
  doctor.installation = context.find_installation();
  if (!context.environment.python.empty()) doctor.python = context.environment.python;
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

void add_doctor_command(CLI::App& app, Context& context, Action& action) {
  auto* command = app.add_subcommand("doctor", "What this machine can do, and how to mend what is missing");
  const auto options = std::make_shared<DoctorCommandOptions>();
  command->add_flag("--json", options->json, "Print the findings as JSON");
  command->add_option("--cache-dir", options->cache_dir, "The cache to look at; XDG_CACHE_HOME/kernelgen")
      ->type_name("DIR");
  command->callback([options, &context, &action] { action = [options, &context] { return run(*options, context); }; });
}

}  // namespace kernelgen::cli
