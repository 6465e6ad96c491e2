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

/// A statement. Nodes of a function stand in source order, so that everything inside node i is i + 1 .. last - 1.
struct Node {
  NodeKind kind = NodeKind::Plain;
  LoopKind loop = LoopKind::None;
  /// The statement itself, or the header of a loop or branch.
  Range tokens;
  std::uint32_t last = 0;
  int line = 0;
  /// Loops around this one, in the same function.
  int depth = 0;
};

struct Parameter {
  std::string_view name;
  /// Passed by reference or pointer: what the function assigns reaches the caller.
  bool by_reference = false;
};

/// A lambda that has a name: its body are the nodes inside the statement that defines it.
struct Lambda {
  std::string_view name;
  std::uint32_t node = 0;
  std::vector<Parameter> parameters;
};

struct Function {
  std::string_view name;
  /// The class it stands in; empty outside.
  std::string_view scope;
  const Tokens* tokens = nullptr;
  /// Decorators (Python), or everything before the name (C).
  Range specifiers;
  /// Of a member function of a class on the device, the object comes first: "this".
  std::vector<Parameter> parameters;
  /// Then also the variables that the class has, in alphabetical order.
  std::vector<std::string_view> members;
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
