#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>

#include <kernelgen/core/version.hpp>
#include <kernelgen/task/task_source.hpp>

#include "commands.hpp"
#include "console.hpp"
#include "help.hpp"
#include "option_hints.hpp"
#include "settings.hpp"
#include "support/text.hpp"
#include "support/try.hpp"

namespace kernelgen::cli {
namespace {

constexpr const char* k_task_file = "kgen.toml";

int report(const Error& error, Context& context, const Command* command = nullptr) {
  constexpr std::size_t k_max_error = 2000;
  context.err << "kgen: " << sanitize_line(add_option_hints(error.to_line(), command), k_max_error) << '\n';
  return static_cast<int>(exit_code_for(error));
}

Error usage_error(Error error, const std::string& command) {
  error.message += " (see kgen " + command + (command.empty() ? "--help)" : " --help)");
  return error;
}

std::size_t help_width(const Context& context) {
  return context.out_terminal.interactive ? context.out_terminal.width : 0;
}

/// An option of kgen itself, which is handled before values are stored.
Option general_option(std::string name, std::string value_name, std::string help, Value value) {
  value.store = [](const std::string& text) -> Result<void> {
    return text.empty() ? Result<void>(Error{ErrorCode::InvalidArgument, "expected a value, not an empty one"})
                        : Result<void>();
  };
  return {.name = std::move(name),
          .value_name = std::move(value_name),
          .help = std::move(help),
          .value = std::move(value),
          .is_command_line_only = true};
}

void add_general_options(Command& command) {
  auto help = general_option("--help", "", "Print this help and exit", {.store = {}, .notation = Notation::Boolean});
  help.aliases = {"-h"};
  const auto after_arguments =
      std::find_if(command.options.begin(), command.options.end(), [](const auto& one) { return !one.is_argument(); });
  command.options.insert(after_arguments, std::move(help));
  if (command.is_hidden || command.name == "completion") return;
  const auto end_of_options = std::find_if(command.options.begin(), command.options.end(),
                                           [](const auto& option) { return !option.group.empty(); });
  command.options.insert(
      end_of_options,
      {general_option("--config", "FILE", "Take your settings from here, not from ~/.config/kgen/config.toml",
                      {.store = {}, .completion = Completion::Files}),
       general_option("--print-config", "", "Print every setting and where it comes from, and exit",
                      {.store = {}, .notation = Notation::Boolean})});
}

/// The answer to a command line that does not begin with a command; nothing when it does.
std::optional<int> answer_general(const std::vector<std::string>& arguments, const std::vector<Command>& commands,
                                  Context& context) {
  const auto wrong = [&](const std::string& message) {
    return report(usage_error({ErrorCode::InvalidArgument, message}, ""), context);
  };
  if (arguments.empty()) return wrong("a command is required");
  const auto& first = arguments.front();
  if (first == "--help" || first == "-h") {
    context.out << render_help(commands, help_width(context));
    return static_cast<int>(ExitCode::Success);
  }
  if (first == "--version") {
    context.out << "kgen " << version() << '\n';
    return static_cast<int>(ExitCode::Success);
  }
  if (!first.empty() && first.front() == '-')
    return wrong("unknown option " + first + did_you_mean(first, std::vector<std::string>{"--help", "--version"}));
  std::vector<std::string> names;
  for (const auto& command : commands) {
    if (command.name == first) return std::nullopt;
    if (!command.is_hidden) names.push_back(command.name);
  }
  return wrong("unknown command " + first + did_you_mean(first, names));
}

/// The file of --config, else the user's own if there is one.
Result<std::optional<ConfigFile>> read_user_config(const GivenOptions& given, const std::vector<Command>& commands,
                                                   const Environment& environment) {
  const auto named = given.find("--config");
  std::error_code ignored;
  if (named == given.end() &&
      (environment.config_file.empty() || !std::filesystem::exists(environment.config_file, ignored)))
    return std::optional<ConfigFile>();
  KERNELGEN_TRY(auto file, named == given.end() ? read_config(environment.config_file)
                                                : read_config(named->second.back()).context("--config"));
  KERNELGEN_CHECK(check_user_file(file, commands));
  return std::optional(std::move(file));
}

/// The kgen.toml beside the task's file.
Result<std::optional<ConfigFile>> read_task_config(const Command& command, const Settings& settings,
                                                   const std::vector<Command>& commands,
                                                   const Environment& environment) {
  const auto task = settings.find(command.task_option);
  if (task == settings.end()) return std::optional<ConfigFile>();
  const auto path = find_task_file(task->second.values.back(), {.kernelbench_dir = environment.kernelbench_dir});
  // Errors in the task are reported when it is read.
  if (!path) return std::optional<ConfigFile>();
  const auto config = path->parent_path() / k_task_file;
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(config, ignored)) return std::optional<ConfigFile>();
  KERNELGEN_TRY(auto file, read_config(config));
  KERNELGEN_CHECK(check_task_file(file, commands));
  return std::optional(std::move(file));
}

Result<Settings> read_settings(const Command& command, const GivenOptions& given, const std::vector<Command>& commands,
                               const Environment& environment) {
  ConfigFiles files{.home = environment.home};
  KERNELGEN_TRY(files.user, read_user_config(given, commands, environment));
  const auto combine = [&] {
    auto combined = combine_settings(command, given, files);
    return combined ? combined : usage_error(std::move(combined).error(), command.name);
  };
  KERNELGEN_TRY(auto settings, combine());
  KERNELGEN_TRY(files.task, read_task_config(command, settings, commands, environment));
  return files.task ? combine() : settings;
}

/// Adds to an error about an option, "--prompts: cannot read ...", the place of the file that has set it.
Error with_place(Error error, const Settings& settings) {
  const auto text = error.to_line();
  const auto found = settings.find(text.substr(0, text.find(": ")));
  if (found == settings.end()) return error;
  const auto& [name, setting] = *found;
  if (setting.source != Source::UserFile && setting.source != Source::TaskFile) return error;
  return {error.code, setting.place + ": " + text.substr(text.find_first_not_of('-'))};
}

Result<ExitCode> run_command(const Command& command, const std::vector<std::string>& arguments,
                             const std::vector<Command>& commands, Context& context) {
  const auto given = parse_arguments(command, arguments);
  if (!given) return usage_error(given.error(), command.name);
  if (given->contains("--help")) {
    context.out << render_help(command, help_width(context));
    return ExitCode::Success;
  }
  KERNELGEN_TRY(const auto settings, read_settings(command, *given, commands, context.environment));
  if (auto stored = store_settings(command, settings); !stored)
    return usage_error(std::move(stored).error(), command.name);
  if (given->contains("--print-config")) {
    context.out << render_settings(command, settings);
    return ExitCode::Success;
  }
  if (auto complete = check_required(command, settings); !complete)
    return usage_error(std::move(complete).error(), command.name);
  auto code = command.run();
  return code ? code : with_place(std::move(code).error(), settings);
}

}  // namespace

std::vector<Command> make_commands(Context& context) {
  std::vector<Command> commands;
  for (const auto make : {make_run_command,      make_batch_command,   make_generate_command,   make_eval_command,
                          make_prompt_command,   make_detect_command,  make_profile_command,    make_monitor_command,
                          make_report_command,   make_compare_command, make_audit_command,      make_import_command,
                          make_export_command,   make_models_command,  make_devices_command,    make_doctor_command,
                          make_selftest_command, make_worker_command,  make_completion_command, make_man_command})
    commands.push_back(make(context));
  for (auto& command : commands) add_general_options(command);
  return commands;
}

int run_kgen(const std::vector<std::string>& arguments, Context& context) {
  const auto commands = make_commands(context);
  if (const auto answer = answer_general(arguments, commands, context)) return *answer;
  const auto command = std::find_if(commands.begin(), commands.end(),
                                    [&](const auto& known) { return known.name == arguments.front(); });
  const auto code = run_command(*command, {arguments.begin() + 1, arguments.end()}, commands, context);
  if (!code) return report(code.error(), context, &*command);
  // A reader of the beginning only, such as head, has seen enough: that is no error.
  if (!context.out.flush() && !has_lost_reader(STDOUT_FILENO))
    return report(Error{ErrorCode::Io, "cannot write to standard output"}, context);
  return static_cast<int>(*code);
}

}  // namespace kernelgen::cli
