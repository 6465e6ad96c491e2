#include "help.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout.hpp"
#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

constexpr std::size_t k_column = 28;
/// Width of the footer if the terminal's is unknown.
constexpr std::size_t k_footer_columns = 100;
/// Minimal width for wrapping; narrower terminals break lines themselves.
constexpr std::size_t k_least_columns = 60;

/// "  NAME   text", the text wrapped below itself.
std::string row(const std::string& name, const std::string& text, std::size_t width) {
  std::string left = "  " + name;
  std::string rows;
  if (count_characters(left) >= k_column) {
    rows = left + '\n';
    left.clear();
  }
  for (const auto& line : wrap(text, width >= k_least_columns ? width - k_column : 0)) {
    rows += fmt::format("{:<{}}{}\n", left, k_column, line);
    left.clear();
  }
  return rows;
}

std::string footer(std::size_t width) {
  std::string text = "Exit codes:";
  std::string_view separator = " ";
  for (const auto& [code, meaning] : exit_code_meanings()) {
    text += fmt::format("{}{} {}", separator, static_cast<int>(code), meaning);
    separator = ", ";
  }
  std::string lines = "\n";
  for (const auto& line : wrap(text + '.', width >= k_least_columns ? width : k_footer_columns)) lines += line + '\n';
  return lines;
}

std::string heading(const OptionGroup& group) { return fmt::format("\n{}:\n", group.name); }

}  // namespace

const std::vector<ExitCodeMeaning>& exit_code_meanings() {
  static const std::vector<ExitCodeMeaning> meanings{
      {ExitCode::Success, "success (eval: correct, and faster or no different)"},
      {ExitCode::BelowTarget, "eval: correct but slower, run, batch: goal not reached"},
      {ExitCode::NotCorrect, "eval: not correct, run, batch: no correct kernel"},
      {ExitCode::Usage, "wrong usage"},
      {ExitCode::MachineLacks, "something this machine lacks"},
      {ExitCode::Bug, "a bug of kgen"},
      {ExitCode::InUse, "a run in use by another kgen"},
      {ExitCode::TryLater, "not possible now, come back later"},
      {ExitCode::Interrupted, "interrupted"},
  };
  return meanings;
}

std::vector<OptionGroup> group_options(const Command& command) {
  std::vector<OptionGroup> groups;
  for (const auto& option : command.options) {
    const auto name = option.is_argument() ? "Arguments" : option.group.empty() ? "Options" : option.group;
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& known) { return known.name == name; });
    if (group == groups.end()) group = groups.insert(groups.end(), OptionGroup{name, {}});
    group->options.push_back(&option);
  }
  return groups;
}

std::string describe_usage(const Option& option) {
  auto text = option.name;
  for (const auto& alias : option.aliases) text = alias.size() == 2 ? alias + ',' + text : text + ',' + alias;
  if (!option.value_name.empty()) text += ' ' + option.value_name;
  if (!option.value.default_text.empty()) text += '=' + option.value.default_text;
  if (option.is_required) text += " REQUIRED";
  return text;
}

std::string describe_option(const Command& command, const Option& option) {
  auto excluded = option.excludes;
  for (const auto& other : command.options)
    if (std::find(other.excludes.begin(), other.excludes.end(), option.name) != other.excludes.end())
      excluded.push_back(other.name);
  auto text = option.help;
  if (!excluded.empty()) text += "; not with " + list_alternatives(excluded);
  if (!option.needs.empty()) text += "; needs " + option.needs;
  return text;
}

std::string render_help(const std::vector<Command>& commands, std::size_t width) {
  std::string text = std::string(k_kgen_summary) + "\nUsage: kgen COMMAND [OPTIONS]\n\nOptions:\n";
  text += row("-h,--help", "Print this help and exit; kgen COMMAND --help tells about a command", width);
  text += row("--version", "Print the version and exit", width);
  text += "\nCommands:\n";
  for (const auto& command : commands)
    if (!command.is_hidden) text += row(command.name, command.summary, width);
  return text + footer(width);
}

std::string render_help(const Command& command, std::size_t width) {
  std::string text = command.summary + "\nUsage: kgen " + command.name + " [OPTIONS]";
  for (const auto& option : command.options)
    if (option.is_argument()) text += ' ' + option.name + (option.is_repeatable ? "..." : "");
  text += '\n';
  for (const auto& group : group_options(command)) {
    text += heading(group);
    for (const auto* option : group.options)
      text += row(describe_usage(*option), describe_option(command, *option), width);
  }
  return text + footer(width);
}

}  // namespace kernelgen::cli
