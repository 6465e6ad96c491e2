#pragma once

/// \file
/// The values that a command runs with, from the command line, the environment and configuration files.
///
///     command line > environment > kgen.toml in the task's folder > the user's config.toml > implied > default

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "config_file.hpp"
#include "parse_arguments.hpp"

namespace kernelgen::cli {

/// The source of a value; a later one wins.
enum class Source { Implied, UserFile, TaskFile, Variable, CommandLine };

/// The value of one option, as text.
struct Setting {
  std::vector<std::string> values;
  Source source = Source::CommandLine;
  /// "PATH:LINE", the name of the environment variable, or Command::implied_by; empty for the command line.
  std::string place{};
};

/// Settings by Option::name, without options that have their default.
using Settings = std::map<std::string, Setting>;

/// The configuration files, as far as they exist.
struct ConfigFiles {
  std::optional<ConfigFile> user{};
  std::optional<ConfigFile> task{};
  /// The directory that replaces ~ at the beginning of a path.
  std::string home{};
};

/// Checks a file. InvalidArgument, naming file, line, key and reason, for unknown sections and keys, keys that need a
/// section, and keys that a task's file may not set.
[[nodiscard]] Result<void> check_user_file(const ConfigFile& file, const std::vector<Command>& commands);
[[nodiscard]] Result<void> check_task_file(const ConfigFile& file, const std::vector<Command>& commands);

/// Determines the value of each option of a command. Of two options that exclude each other, the one from the weaker
/// source is dropped. An option from a file is dropped if its Option::needs is not set. InvalidArgument where both came
/// from the command line, or both from one file.
[[nodiscard]] Result<Settings> combine_settings(const Command& command, const GivenOptions& given,
                                                const ConfigFiles& files);

/// Checks and stores every value. The error names the option and the place of the value.
[[nodiscard]] Result<void> store_settings(const Command& command, const Settings& settings);

/// Checks that all required options have a value; InvalidArgument names one without.
[[nodiscard]] Result<void> check_required(const Command& command, const Settings& settings);

/// All options of a command with their values and sources, as a configuration file that would set them.
[[nodiscard]] std::string render_settings(const Command& command, const Settings& settings);

}  // namespace kernelgen::cli
