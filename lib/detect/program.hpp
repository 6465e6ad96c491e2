#pragma once

/// \file
/// Functions and their statements, the same for both languages.

#include <string_view>
#include <vector>

#include "detect/token.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// Tokens from `begin` up to `end`.
struct Range {
  Position begin = 0;
  Position end = 0;
};

enum class NodeKind : std::uint8_t { Plain, Loop, Branch };
enum class LoopKind : std::uint8_t { None, For, While, DoWhile };

/// A statement. A function's nodes are in source order, so that the nodes inside node i are i + 1 .. last - 1.
struct Node {
  NodeKind kind = NodeKind::Plain;
  LoopKind loop = LoopKind::None;
  /// The statement itself, or the header of a loop or branch.
  Range tokens;
  std::uint32_t last = 0;
  int line = 0;
  /// Number of loops around this one, in the same function.
  int depth = 0;
};

struct Parameter {
  std::string_view name;
  /// Passed by reference or pointer: the caller sees assignments to it.
  bool by_reference = false;
  /// C: const, or, of a pointer, what it points to is.
  bool constant = false;
};

/// A lambda with a name: its body is the nodes inside its definition.
struct Lambda {
  std::string_view name;
  std::uint32_t node = 0;
  std::vector<Parameter> parameters;
};

struct Function {
  std::string_view name;
  /// Name of the enclosing class; empty outside.
  std::string_view scope;
  const Tokens* tokens = nullptr;
  /// Decorators (Python), or everything before the name (C).
  Range specifiers;
  /// In a member function of a class on the device, the object comes first: "this".
  std::vector<Parameter> parameters;
  /// The variables of that class, in alphabetical order.
  std::vector<std::string_view> members;
  /// C: the variables of the class that the function returns an object of, in their order.
  std::vector<std::string_view> returned;
  std::vector<Node> nodes;
  std::vector<Lambda> lambdas;  ///< C, in source order
  int line = 0;
};

/// Functions in source order. Statements outside of functions are a function without a name.
[[nodiscard]] std::vector<Function> parse_python(const Tokens& tokens);
[[nodiscard]] std::vector<Function> parse_c(const Tokens& tokens);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
