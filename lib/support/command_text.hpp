#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/result.hpp>

namespace kernelgen {
inline namespace v0 {

/// Splits a command line at blanks. Quotes of both kinds keep blanks, a backslash keeps the next character (but within
/// '...' it stands for itself); nothing else is special, no shell is involved. InvalidArgument for a quote that stays
/// open.
[[nodiscard]] Result<std::vector<std::string>> split_command(std::string_view line);

/// A word for a POSIX shell: unchanged where the shell would not change it, else in single quotes.
[[nodiscard]] std::string shell_word(std::string_view word);

}  // namespace v0
}  // namespace kernelgen
