#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>

namespace kernelgen::cli {

/// A place in a file; both numbers begin with 1.
struct FilePlace {
  int line = 0;
  int column = 0;
};

/// One key of a configuration file.
struct ConfigEntry {
  /// The command of the section; empty: the key is above all sections.
  std::string section;
  std::string key;
  /// The values as texts of a command line; several for a TOML array.
  std::vector<std::string> values;
  bool is_boolean = false;
  FilePlace place;
};

/// A configuration file, in the order of its lines.
struct ConfigFile {
  std::filesystem::path path;
  std::vector<ConfigEntry> entries;
};

/// Reads TOML with sections that are one level deep. InvalidArgument with path, line, column and key for anything else.
[[nodiscard]] Result<ConfigFile> parse_config(std::string_view text, const std::filesystem::path& path);

/// Reads a configuration file. Errors name it.
[[nodiscard]] Result<ConfigFile> read_config(const std::filesystem::path& path);

/// "PATH:LINE:COLUMN".
[[nodiscard]] std::string location_of(const ConfigFile& file, const ConfigEntry& entry);

}  // namespace kernelgen::cli
