#pragma once

#include <string>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A number so that equal numbers are equal texts: "0.7", "2".
[[nodiscard]] std::string to_text(double number);
/// "a b c".
[[nodiscard]] std::string to_text(const std::vector<std::string>& words);

}  // namespace v0
}  // namespace kernelgen
