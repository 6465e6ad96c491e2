#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"

namespace kernelgen::cli {

/// An exit code of kgen, explained for a person.
struct ExitCodeMeaning {
  ExitCode code;
  std::string_view meaning;
};
[[nodiscard]] const std::vector<ExitCodeMeaning>& exit_code_meanings();

inline constexpr std::string_view k_kgen_summary =
    "Has language models write kernels that replace PyTorch modules, and judges them.";

/// The options under one heading.
struct OptionGroup {
  std::string name;
  std::vector<const Option*> options;
};
[[nodiscard]] std::vector<OptionGroup> group_options(const Command& command);

/// "--problem,--task TASK REQUIRED", "--seeds N=2".
[[nodiscard]] std::string describe_usage(const Option& option);
/// The help of an option with what it cannot be combined with, and what it needs.
[[nodiscard]] std::string describe_option(const Command& command, const Option& option);

/// The text of `kgen --help`. Lines are wrapped at `width` columns; 0: they are not.
[[nodiscard]] std::string render_help(const std::vector<Command>& commands, std::size_t width);
/// The text of `kgen COMMAND --help`.
[[nodiscard]] std::string render_help(const Command& command, std::size_t width);

}  // namespace kernelgen::cli
