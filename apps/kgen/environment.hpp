#pragma once

#include <map>
#include <string>

#include <kernelgen/core/result.hpp>

namespace kernelgen::cli {

/// The environment variables that kgen reads. The library reads none of them itself.
struct Environment {
  std::string python;           ///< KGEN_PYTHON; empty: python3
  std::string kernelbench_dir;  ///< KERNELBENCH_DIR
  std::string cache_dir;        ///< XDG_CACHE_HOME/kernelgen, or HOME/.cache/kernelgen; empty when neither is set
  std::string config_file;      ///< XDG_CONFIG_HOME/kgen/config.toml, or HOME/.config/...; empty when neither is set
  std::string providers_file;   ///< providers.json beside it
  std::string home;             ///< HOME
  std::string num_samples;      ///< NUM_SAMPLES
  std::string max_attempts;     ///< MAX_ATTEMPTS
  bool no_color = false;        ///< NO_COLOR is set to anything, or TERM is dumb
  std::size_t columns = 0;      ///< COLUMNS; 0 when unset
  /// The whole environment without secrets, for the programs that are started.
  std::map<std::string, std::string> clean;
};

/// Reads the variables of kgen.
[[nodiscard]] Environment read_environment(const std::map<std::string, std::string>& variables);

/// The cache directory of the option, else of the environment. InvalidArgument says how to set one.
[[nodiscard]] Result<std::string> choose_cache_dir(const std::string& option, const Environment& environment);

}  // namespace kernelgen::cli
