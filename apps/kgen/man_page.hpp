#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"

namespace kernelgen::cli {

/// kgen(1) in the format of man(7).
[[nodiscard]] std::string render_man_page(std::string_view version, const std::vector<Command>& commands);

}  // namespace kernelgen::cli
