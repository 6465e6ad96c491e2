#pragma once

#include <string>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A number as its shortest text, so that equal numbers give equal texts: "0.7", "2".
[[nodiscard]] std::string to_text(double number);
/// The words with blanks between them: "a b c".
[[nodiscard]] std::string to_text(const std::vector<std::string>& words);

}  // namespace v0
}  // namespace kernelgen
