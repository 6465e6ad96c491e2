#pragma once

#include <string>
#include <vector>

#include "command_line.hpp"

namespace kernelgen::cli {

/// The shells that completion scripts are written for.
enum class Shell { Bash, Zsh, Fish };

/// A script that completes commands, options, enumerated values and files without running kgen.
[[nodiscard]] std::string render_completion(Shell shell, const std::vector<Command>& commands);

}  // namespace kernelgen::cli
