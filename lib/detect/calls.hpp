#pragma once

/// \file
/// Calls, arguments and dotted names in the text.

#include <string_view>
#include <vector>

#include "detect/program.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// The name at `at`; for Python's self, together with its member.
[[nodiscard]] std::string_view name_at(const Tokens& tokens, Position at);

/// A called name in a range, with its place. A dotted or qualified name gives its last part.
struct Call {
  std::string_view name;
  Position at = 0;         ///< position of the name
  Range arguments;         ///< the tokens between the parentheses
  std::string_view first;  ///< first part of a dotted name; else the name
};
[[nodiscard]] std::vector<Call> calls_in(const Tokens& tokens, Range range);

/// The position where a call's arguments begin, after template arguments or a launch configuration.
[[nodiscard]] Position arguments_at(const Tokens& tokens, Position at, Position end);

/// Whether the call is an operation of the device language: tl.load, or load after `from triton.syntax import load`.
[[nodiscard]] bool is_device_operation(const Tokens& tokens, const Call& call);

/// Python: whether a call reads or writes a block by an object that describes a tensor: description.load([i, j]).
[[nodiscard]] bool loads_block(const Tokens& tokens, const Call& call);
[[nodiscard]] bool stores_block(const Tokens& tokens, const Call& call);

/// The arguments in the order of the parameters, with keyword arguments moved to their places.
[[nodiscard]] std::vector<Range> by_position(const Tokens& tokens, const std::vector<std::string_view>& names,
                                             std::vector<Range> given);

/// The range of name, name[i] or a.b->c[i] that ends before `end`.
[[nodiscard]] Range place_before(const Tokens& tokens, Position end, Position begin);

/// The part before the dot of a method call. Requires: the name is not the first of its text.
[[nodiscard]] Range object_of(const Tokens& tokens, const Call& call);

/// The arguments of a call; for a member function, its object first.
[[nodiscard]] std::vector<Range> arguments_of(const Tokens& tokens, const Call& call, bool method);

/// The parts of `range` between `separator`s outside of brackets.
[[nodiscard]] std::vector<Range> split_tokens(const Tokens& tokens, Range range, std::string_view separator);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
