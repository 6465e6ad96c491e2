#include "completion.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

/// `text` with a backslash before each of `characters`.
std::string escaped(std::string_view text, std::string_view characters) {
  std::string result;
  for (const char c : text) {
    if (characters.find(c) != characters.npos) result += '\\';
    result += c;
  }
  return result;
}

/// A word for a shell in single quotes. It may contain single quotes.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + '\'';
}

std::vector<const Command*> shown_commands(const std::vector<Command>& commands) {
  std::vector<const Command*> shown;
  for (const auto& command : commands)
    if (!command.is_hidden) shown.push_back(&command);
  return shown;
}

std::vector<std::string> command_names(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const auto* command : shown_commands(commands)) names.push_back(command->name);
  return names;
}

/// "-h", "--help".
std::vector<std::string> names_of(const Option& option) {
  std::vector<std::string> names{option.name};
  names.insert(names.end(), option.aliases.begin(), option.aliases.end());
  return names;
}

bool takes_value(const Option& option) { return !option.is_argument() && !option.is_flag(); }

// ---- bash

/// Shell code that completes the values of an option or an argument.
std::string bash_completions(const Option& option) {
  switch (option.value.completion) {
    case Completion::Files:
      return "_kgen_offer -f";
    case Completion::Directories:
      return "_kgen_offer -d";
    case Completion::Programs:
      return "_kgen_offer -c";
    case Completion::None:
      break;
  }
  if (option.value.completions.empty()) return ":";
  return "_kgen_offer -W " + shell_quoted(join(option.value.completions, " "));
}

std::string bash_command(const Command& command) {
  std::string text = fmt::format("    {})\n      case $previous in\n", command.name);
  std::vector<std::string> names;
  std::string argument = ":";
  for (const auto& option : command.options) {
    if (option.is_argument()) {
      argument = bash_completions(option);
      continue;
    }
    const auto own = names_of(option);
    names.insert(names.end(), own.begin(), own.end());
    if (takes_value(option))
      text += fmt::format("        {}) {}; return ;;\n", join(own, "|"), bash_completions(option));
  }
  text += "      esac\n";
  text += fmt::format("      if [[ $word == -* ]]; then _kgen_offer -W {}; else {}; fi ;;\n",
                      shell_quoted(join(names, " ")), argument);
  return text;
}

std::string render_bash(const std::vector<Command>& commands) {
  std::string text = R"(# bash completion for kgen; made by: kgen completion bash
_kgen_offer() {
  [[ $1 == -f || $1 == -d ]] && compopt -o filenames 2> /dev/null
  mapfile -t COMPREPLY < <(compgen "$@" -- "$word")
  # What ends in a colon goes on: openai:MODEL.
  [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace 2> /dev/null
  return 0
}

_kgen() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  # bash takes --name=value apart.
  if [[ $word == = ]]; then word=
  elif [[ $previous == = ]]; then previous=${COMP_WORDS[COMP_CWORD-2]}
  fi
)";
  text += fmt::format("  if [[ $COMP_CWORD == 1 ]]; then _kgen_offer -W {}; return; fi\n",
                      shell_quoted(join(command_names(commands), " ") + " --help --version"));
  text += "  case ${COMP_WORDS[1]} in\n";
  for (const auto* command : shown_commands(commands)) text += bash_command(*command);
  return text + "  esac\n}\ncomplete -F _kgen kgen\n";
}

// ---- zsh

std::string zsh_action(const Option& option) {
  switch (option.value.completion) {
    case Completion::Files:
      return "_files";
    case Completion::Directories:
      return "_files -/";
    case Completion::Programs:
      return "_command_names -e";
    case Completion::None:
      break;
  }
  if (option.value.completions.empty()) return " ";
  return '(' + escaped(join(option.value.completions, " "), ":") + ')';
}

/// A specification for _arguments.
std::string zsh_option(const Option& option) {
  const auto value = escaped(option.value_name, ":") + ':' + zsh_action(option);
  if (option.is_argument()) return shell_quoted((option.is_repeatable ? "*:" : "1:") + value);
  const auto names = names_of(option);
  const auto help = '[' + escaped(option.help, "[]:") + ']' + (takes_value(option) ? ':' + value : "");
  if (option.is_repeatable) return shell_quoted('*' + option.name + help);
  if (names.size() == 1) return shell_quoted(option.name + help);
  return shell_quoted('(' + join(names, " ") + ')') + '{' + join(names, ",") + '}' + shell_quoted(help);
}

std::string render_zsh(const std::vector<Command>& commands) {
  std::string text = "#compdef kgen\n# zsh completion for kgen; made by: kgen completion zsh\n_kgen() {\n";
  text += "  local -a commands=(\n";
  for (const auto* command : shown_commands(commands))
    text += "    " + shell_quoted(command->name + ':' + command->summary) + '\n';
  text += R"(  )
  if (( CURRENT == 2 )); then
    _describe -t commands 'command of kgen' commands
    _arguments '(-h --help)'{-h,--help}'[Print the help]' '--version[Print the version]'
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
)";
  for (const auto* command : shown_commands(commands)) {
    text += fmt::format("    {})\n      _arguments -S", command->name);
    for (const auto& option : command->options) text += " \\\n        " + zsh_option(option);
    text += " ;;\n";
  }
  // The function is loaded by its name, or the whole file is sourced.
  return text + R"(  esac
}
if [[ ${funcstack[1]} == _kgen ]]; then _kgen "$@"; else compdef _kgen kgen; fi
)";
}

// ---- fish

std::string fish_values(const Option& option) {
  switch (option.value.completion) {
    case Completion::Files:
      return " -r -F";
    case Completion::Directories:
      return " -x -a '(__fish_complete_directories)'";
    case Completion::Programs:
      return " -x -a '(__fish_complete_command)'";
    case Completion::None:
      break;
  }
  if (option.is_flag()) return {};
  if (option.value.completions.empty()) return " -x";
  return " -x -a " + shell_quoted(join(option.value.completions, " "));
}

std::string fish_option(const Command& command, const Option& option) {
  auto line = "complete -c kgen -n '__fish_seen_subcommand_from " + command.name + '\'';
  if (option.is_argument()) return line + fish_values(option) + '\n';
  for (const auto& name : names_of(option))
    line += name.size() == 2 ? " -s " + name.substr(1) : " -l " + name.substr(2);
  return line + fish_values(option) + " -d " + shell_quoted(option.help) + '\n';
}

std::string render_fish(const std::vector<Command>& commands) {
  std::string text = "# fish completion for kgen; made by: kgen completion fish\ncomplete -c kgen -f\n";
  text += "complete -c kgen -n __fish_use_subcommand -s h -l help -d 'Print the help'\n";
  text += "complete -c kgen -n __fish_use_subcommand -l version -d 'Print the version'\n";
  for (const auto* command : shown_commands(commands)) {
    text += fmt::format("complete -c kgen -n __fish_use_subcommand -a {} -d {}\n", command->name,
                        shell_quoted(command->summary));
    for (const auto& option : command->options) text += fish_option(*command, option);
  }
  return text;
}

}  // namespace

std::string render_completion(Shell shell, const std::vector<Command>& commands) {
  switch (shell) {
    case Shell::Bash:
      return render_bash(commands);
    case Shell::Zsh:
      return render_zsh(commands);
    case Shell::Fish:
      return render_fish(commands);
  }
  return {};
}

}  // namespace kernelgen::cli
