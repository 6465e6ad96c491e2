#pragma once

#include <map>
#include <string>
#include <vector>

#include "command_line.hpp"

namespace kernelgen::cli {

/// The values on a command line as texts, in their order, by Option::name. An option without a value has the text
/// "true".
using GivenOptions = std::map<std::string, std::vector<std::string>>;

/// Splits the arguments after the command's name into options and values. Values are not checked here.
/// InvalidArgument: an unknown option, with the names that are close to it; a value that is missing; an option that is
/// given twice but is not repeatable.
[[nodiscard]] Result<GivenOptions> parse_arguments(const Command& command, const std::vector<std::string>& arguments);

}  // namespace kernelgen::cli
