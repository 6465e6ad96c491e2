#include "parse_arguments.hpp"

// The only file that includes CLI11, which takes a compiler about ten seconds.
#include <CLI/CLI.hpp>
#include <set>

#include <kernelgen/core/candidate.hpp>

#include "support/text.hpp"

namespace kernelgen::cli {
namespace {

/// Placeholder for a missing value; no argument of a process can contain this byte.
const std::string k_no_value(1, '\0');

std::string all_names(const Option& option) {
  auto names = option.aliases;
  names.insert(names.end(), option.retired.begin(), option.retired.end());
  names.insert(names.begin(), option.name);
  return join(names, ",");
}

CLI::Option* bind(CLI::App& app, const Option& option) {
  if (option.is_flag()) return app.add_flag(all_names(option));
  auto* bound = app.add_option(all_names(option), [](const CLI::results_t&) { return true; });
  bound->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  // The error names the missing value, which CLI11 does not do.
  if (option.is_argument())
    bound->expected(option.is_repeatable ? -1 : 1);  // -1: one and more
  else
    bound->expected(0, 1)->default_str(k_no_value);
  return bound;
}

/// The arguments with the options that they most likely belong to: "--problem a.py --code b.c"; empty where one fits
/// none. `given` tells which options have a value.
std::string with_options(const Command& command, const std::vector<std::string>& arguments,
                         std::set<std::string> given) {
  std::string text;
  for (const auto& argument : arguments) {
    const auto fits = [&](const std::string& name) {
      return command.find(name) != nullptr && !given.contains(name) && guess_target(argument, "").has_value();
    };
    const std::string name = argument.ends_with(".py") && fits("--problem") ? "--problem" : "--code";
    if (!fits(name)) return "";
    given.insert(name);
    text += (text.empty() ? "" : " ") + name + ' ' + argument;
  }
  return text;
}

Error unexpected(const Command& command, const std::string& argument) {
  if (argument.front() != '-') return {ErrorCode::InvalidArgument, "unexpected argument " + argument};
  const auto name = argument.substr(0, argument.find('='));
  std::vector<std::string> known;
  for (const auto& option : command.options) {
    known.push_back(option.name);
    known.insert(known.end(), option.aliases.begin(), option.aliases.end());
  }
  return {ErrorCode::InvalidArgument, "unknown option " + name + did_you_mean(name, known)};
}

Result<std::vector<std::string>> values_of(const Option& option, const CLI::Option& bound) {
  auto values = bound.results();
  for (auto& value : values) {
    if (value != k_no_value) continue;
    if (option.implied_value.empty())
      return Error{ErrorCode::InvalidArgument, option.name + " needs a value: " + option.value_name};
    value = option.implied_value;
  }
  if (option.is_flag()) return std::vector{values.back()};
  if (values.size() > 1 && !option.is_repeatable)
    return Error{ErrorCode::InvalidArgument, option.name + " is given more than once"};
  return values;
}

}  // namespace

Result<GivenOptions> parse_arguments(const Command& command, const std::vector<std::string>& arguments) try {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<CLI::Option*> bound;
  for (const auto& option : command.options) bound.push_back(bind(app, option));
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes the last one first
  // CLI11 keeps the -- that ends the options.
  auto extras = app.remaining();
  std::erase(extras, "--");
  if (!extras.empty()) {
    std::set<std::string> names;
    for (std::size_t i = 0; i < bound.size(); ++i)
      if (bound[i]->count() > 0) names.insert(command.options[i].name);
    const auto meant = with_options(command, extras, std::move(names));
    if (!meant.empty()) return Error{ErrorCode::InvalidArgument, "a file needs its option: " + meant};
    return unexpected(command, extras.front());
  }
  GivenOptions given;
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (bound[i]->count() == 0) continue;
    auto values = values_of(command.options[i], *bound[i]);
    if (!values) return std::move(values).error();
    given[command.options[i].name] = *std::move(values);
  }
  return given;
} catch (const CLI::ParseError& error) {
  return Error{ErrorCode::InvalidArgument, error.what()};
}

}  // namespace kernelgen::cli
