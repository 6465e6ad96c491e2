#pragma once

/// \file
/// Sources of the C family in the literals of a Python text, and the names of its imports.

#include <string>
#include <vector>

#include "detect/token.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

struct InlineText {
  std::string source;
  int line = 0;  ///< line of its first character, in the file
};

/// Literals with sources of the C family, with escapes and braces of formats decoded as the program sees them. `tokens`
/// borrow `source`.
[[nodiscard]] std::vector<InlineText> inline_texts(const Tokens& tokens, std::string_view source);

/// Finds a text's names for the modules, the operations and the decorator of the device language.
void read_imports(Tokens& tokens);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
