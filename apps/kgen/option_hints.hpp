#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"

namespace kernelgen::cli {

/// What the library advises in words of its own, and how to say it to kgen.
struct OptionHint {
  /// Words of the library's messages.
  std::string_view advice;
  /// Goes into parentheses behind them.
  std::string_view option;
};

/// All hints.
[[nodiscard]] const std::vector<OptionHint>& option_hints();

/// A message of the library with the option behind each piece of advice that kgen has an option or a command for:
/// "choose another GPU (--device)". With a command, options that it lacks are left out.
[[nodiscard]] std::string add_option_hints(std::string message, const Command* command = nullptr);

}  // namespace kernelgen::cli
