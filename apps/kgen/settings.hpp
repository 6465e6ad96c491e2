#pragma once

/// \file
/// The values that a command runs with, from the command line, the environment and configuration files.
///
///     command line > environment > kgen.toml in the task's folder > the user's config.toml > default

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "config_file.hpp"
#include "parse_arguments.hpp"

namespace kernelgen::cli {

/// Where a value came from; a later one wins.
enum class Source { UserFile, TaskFile, Variable, CommandLine };

/// The value of one option, as text.
struct Setting {
  std::vector<std::string> values;
  Source source = Source::CommandLine;
  /// "PATH:LINE", or the name of the environment variable; empty for the command line.
  std::string place{};
};

/// By Option::name. An option that only has its default is missing.
using Settings = std::map<std::string, Setting>;

/// What configuration files say; nothing where there is no such file.
struct ConfigFiles {
  std::optional<ConfigFile> user{};
  std::optional<ConfigFile> task{};
  /// Stands for ~ at the beginning of a path in a file.
  std::string home{};
};

/// Unknown sections and keys anywhere in the file, keys that need a section, and for a task's file keys that it may not
/// set: InvalidArgument that names file, line, key and the reason.
[[nodiscard]] Result<void> check_user_file(const ConfigFile& file, const std::vector<Command>& commands);
[[nodiscard]] Result<void> check_task_file(const ConfigFile& file, const std::vector<Command>& commands);

/// The value that each option of a command gets. Of two options that exclude each other, the one from the weaker source
/// is dropped; an option from a file whose Option::needs is not set is dropped. InvalidArgument where both came from
/// the command line, or both from one file.
[[nodiscard]] Result<Settings> combine_settings(const Command& command, const GivenOptions& given,
                                                const ConfigFiles& files);

/// Checks every value and puts it where its option says. The error names the option and where the value stands.
[[nodiscard]] Result<void> store_settings(const Command& command, const Settings& settings);

/// InvalidArgument that names a required option without a value.
[[nodiscard]] Result<void> check_required(const Command& command, const Settings& settings);

/// All options of a command with their values and where each came from, as a configuration file that would set them.
[[nodiscard]] std::string render_settings(const Command& command, const Settings& settings);

}  // namespace kernelgen::cli
