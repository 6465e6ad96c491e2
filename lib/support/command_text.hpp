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

}  // namespace v0
}  // namespace kernelgen
