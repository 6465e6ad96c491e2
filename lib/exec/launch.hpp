#pragma once

/// \file
/// Starting a program through a launcher such as `ssh node` or `srun -n1`.

#include <map>
#include <string>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// The words of `command` behind those of a launcher; an empty launcher starts it here. ssh joins its words with blanks
/// and lets a shell split them again, so behind it, words that a shell would change are quoted.
[[nodiscard]] std::vector<std::string> launch_command(const std::vector<std::string>& launcher,
                                                      const std::vector<std::string>& command);

/// The launcher's environment: clean_environment(), and what ssh needs to ask an agent.
[[nodiscard]] std::map<std::string, std::string> launch_environment();

}  // namespace v0
}  // namespace kernelgen
