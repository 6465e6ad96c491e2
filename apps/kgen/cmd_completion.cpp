#include <ostream>

#include <kernelgen/core/version.hpp>

#include "commands.hpp"
#include "completion.hpp"
#include "man_page.hpp"

namespace kernelgen::cli {
namespace {

std::optional<Shell> parse_shell(std::string_view name) {
  if (name == "bash") return Shell::Bash;
  if (name == "zsh") return Shell::Zsh;
  if (name == "fish") return Shell::Fish;
  return std::nullopt;
}

}  // namespace

Command make_completion_command(Context& context) {
  const auto shell = std::make_shared<std::optional<Shell>>();
  return {.name = "completion",
          .summary = "Print the script that completes kgen's command line in a shell",
          .options = {{.name = "shell",
                       .value_name = "SHELL",
                       .help = "bash, zsh or fish",
                       .value = values::enumeration(*shell, {"bash", "zsh", "fish"}, parse_shell),
                       .is_required = true}},
          .run = [shell, &context]() -> Result<ExitCode> {
            context.out << render_completion(**shell, make_commands(context));
            return ExitCode::Success;
          }};
}

Command make_man_command(Context& context) {
  return {.name = "man",
          .summary = "Print the manual page",
          .run = [&context]() -> Result<ExitCode> {
            context.out << render_man_page(version(), make_commands(context));
            return ExitCode::Success;
          },
          .is_hidden = true};
}

}  // namespace kernelgen::cli
