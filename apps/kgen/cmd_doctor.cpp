#include <algorithm>
#include <ostream>

#include <kernelgen/bench/doctor.hpp>

#include "commands.hpp"
#include "evaluation_flags.hpp"
#include "local_device.hpp"
#include "render.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

struct DoctorCommandOptions {
  std::string python;
  std::string cache_dir;
  std::string llm;
  std::string spool;
  bool json = false;
};

Result<ExitCode> run(const DoctorCommandOptions& options, Context& context) {
  KERNELGEN_TRY(auto findings, examine_machine(options.python, options.cache_dir, context));
  if (!options.llm.empty()) {
    const auto make_client = [&](std::string_view spec) {
      return context.make_llm(spec, Waiting::Return, ReplayMode::Strict);
    };
    KERNELGEN_TRY(auto model, examine_model(options.llm, make_client, context.stop));
    findings.push_back(std::move(model));
  }
  if (!options.spool.empty()) findings.push_back(examine_spool(options.spool));
  const auto& terminal = context.out_terminal;
  context.out << (options.json ? findings_to_json(findings)
                               : render_findings(findings, {.width = terminal.interactive ? terminal.width : 0,
                                                            .color = terminal.color}));
  const bool missing = std::any_of(findings.begin(), findings.end(),
                                   [](const auto& finding) { return finding.status == DoctorStatus::Missing; });
  return missing ? ExitCode::MachineLacks : ExitCode::Success;
}

}  // namespace

Command make_doctor_command(Context& context) {
  const auto options = std::make_shared<DoctorCommandOptions>();
  auto llm = llm_option(options->llm);
  llm.help = "Check this model too; a server or a program gets one short request";
  // A model that a configuration file sets for all commands is not queried by every `kgen doctor`.
  llm.is_shared = false;
  return {.name = "doctor",
          .summary = "What this machine can do, and how to fix what is missing",
          .options = {std::move(llm),
                      {.name = "--spool",
                       .value_name = "DIR",
                       .help = "Check this spool directory too: is it there, and does a worker serve it",
                       .value = values::directory(options->spool)},
                      {.name = "--json", .help = "Print the findings as JSON", .value = values::flag(options->json)},
                      python_option(options->python, context.environment),
                      cache_dir_option(options->cache_dir, "The cache to look at; XDG_CACHE_HOME/kernelgen")},
          .run = [options, &context] { return run(*options, context); }};
}

}  // namespace kernelgen::cli
