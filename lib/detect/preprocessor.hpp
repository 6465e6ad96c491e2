#pragma once

/// \file
/// Macros of the C family: kernels and loops may be written with them.

#include <unordered_map>
#include <vector>

#include "detect/token.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

struct Macro {
  bool function = false;  ///< takes arguments
  std::vector<std::string_view> parameters;
  std::vector<Token> body;
};

/// Macros by name; the first definition counts.
using Macros = std::unordered_map<std::string_view, Macro>;

/// Replaces macros by their expansions, at the lines of their uses. Expansions are bounded.
void expand_macros(Tokens& tokens, const Macros& macros);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
