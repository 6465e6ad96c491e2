#include <algorithm>
#include <optional>
#include <ostream>

#include <kernelgen/core/version.hpp>

#include "commands.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

constexpr const char* k_footer =
    "Exit codes: 0 success (eval: correct and at least as fast), 1 eval: correct but slower, run: goal not\n"
    "reached, 2 eval: not correct, run: no correct kernel, 64 wrong usage, 69 something this machine lacks,\n"
    "70 a bug of kgen, 73 a run in use by another kgen, 75 not possible now, come back later, 130 interrupted.";

int report(const Error& error, Context& context) {
  constexpr std::size_t k_max_error = 2000;
  context.err << "kgen: " << sanitize_line(error.to_line(), k_max_error) << '\n';
  return static_cast<int>(exit_code_for(error));
}

/// CLI11 throws for --help too; those texts are success.
int report(const CLI::ParseError& error, const CLI::App& app, Context& context) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    app.exit(error, context.out, context.err);
    return static_cast<int>(ExitCode::Success);
  }
  return report(Error{ErrorCode::InvalidArgument, std::string(error.what()) + " (see kgen --help)"}, context);
}

/// CLI11 would only say that a command is required.
std::optional<std::string> unknown_command(CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().rfind('-', 0) == 0) return std::nullopt;
  const auto& name = arguments.front();
  const auto known = app.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
  return known.empty() ? std::optional(name) : std::nullopt;
}

}  // namespace

int run_kgen(const std::vector<std::string>& arguments, Context& context) {
  CLI::App app("Has language models write kernels that replace PyTorch modules, and judges them.", "kgen");
  app.set_version_flag("--version", "kgen " + std::string(version()));
  app.require_subcommand(1);
  app.footer(k_footer);
  app.get_formatter()->column_width(28);
  Action action;
  add_run_command(app, context, action);
  add_generate_command(app, context, action);
  add_eval_command(app, context, action);
  add_prompt_command(app, context, action);
  add_detect_command(app, context, action);
  add_profile_command(app, context, action);
  add_report_command(app, context, action);
  add_devices_command(app, context, action);
  add_doctor_command(app, context, action);
  add_worker_command(app, context, action);
  if (const auto name = unknown_command(app, arguments))
    return report(Error{ErrorCode::InvalidArgument, "unknown command " + *name + " (see kgen --help)"}, context);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them last first
  } catch (const CLI::ParseError& error) {
    return report(error, app, context);
  }
  const auto code = action();
  if (!code) return report(code.error(), context);
  if (!context.out.flush()) return report(Error{ErrorCode::Io, "cannot write to standard output"}, context);
  return static_cast<int>(*code);
}

}  // namespace kernelgen::cli
