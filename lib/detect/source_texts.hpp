#pragma once

/// \file
/// What a Python text says about other texts: sources of the C family in its literals, and modules that it imports.

#include <string>
#include <vector>

#include "detect/token.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

struct InlineText {
  std::string source;
  int line = 0;  ///< of its first character, in the file
};

/// Literals that hold sources of the C family, with escapes and braces of formats as the program sees them.
/// `tokens` borrow `source`.
[[nodiscard]] std::vector<InlineText> inline_texts(const Tokens& tokens, std::string_view source);

/// Fills in what a text calls the modules, the operations and the decorator of the device language.
void read_imports(Tokens& tokens);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
