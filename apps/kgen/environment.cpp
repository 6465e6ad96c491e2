#include "environment.hpp"

#include <charconv>

#include <kernelgen/bench/local_judge.hpp>
#include <kernelgen/exec/process.hpp>

#include "support/xdg.hpp"

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
  environment.num_samples = get("NUM_SAMPLES");
  environment.max_attempts = get("MAX_ATTEMPTS");
  if (const auto cache = default_cache_dir(variables)) environment.cache_dir = cache->string();
  if (const auto config = xdg_directory(variables, "XDG_CONFIG_HOME", "/.config"); !config.empty()) {
    environment.config_file = config + "/kgen/config.toml";
    environment.providers_file = config + "/kgen/providers.json";
  }
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
