#include "environment.hpp"

#include <charconv>

#include <kernelgen/exec/process.hpp>

namespace kernelgen::cli {

Environment read_environment(const std::map<std::string, std::string>& variables) {
  const auto get = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
  Environment environment;
  environment.python = get("KGEN_PYTHON");
  environment.kernelbench_dir = get("KERNELBENCH_DIR");
  environment.home = get("HOME");
  // The XDG specification has relative paths ignored.
  const auto xdg_directory = [&](const char* name, const char* below_home) {
    const auto named = get(name);
    if (!named.empty() && named.front() == '/') return named;
    return environment.home.empty() ? std::string() : environment.home + below_home;
  };
  if (const auto cache = xdg_directory("XDG_CACHE_HOME", "/.cache"); !cache.empty())
    environment.cache_dir = cache + "/kernelgen";
  if (const auto config = xdg_directory("XDG_CONFIG_HOME", "/.config"); !config.empty())
    environment.config_file = config + "/kgen/config.toml";
  environment.no_color = !get("NO_COLOR").empty() || get("TERM") == "dumb";
  const auto columns = get("COLUMNS");
  std::from_chars(columns.data(), columns.data() + columns.size(), environment.columns);
  environment.clean = clean_environment(variables);
  return environment;
}

Result<std::string> choose_cache_dir(const std::string& option, const Environment& environment) {
  if (!option.empty()) return option;
  if (!environment.cache_dir.empty()) return environment.cache_dir;
  return Error{ErrorCode::InvalidArgument, "no cache directory: set HOME or XDG_CACHE_HOME, or pass --cache-dir"};
}

}  // namespace kernelgen::cli
