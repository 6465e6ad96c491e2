#pragma once

/// \file
/// Calls, arguments and dotted names, as they stand in the text.

#include <string_view>
#include <vector>

#include "detect/program.hpp"

namespace kernelgen {
inline namespace v0 {
namespace detect {

/// The name at `at`; of Python's self, together with its member.
[[nodiscard]] std::string_view name_at(const Tokens& tokens, Position at);

/// The names in [range] that are called, each with its place. Dotted and qualified names give their last part.
struct Call {
  std::string_view name;
  Position at = 0;         ///< of the name
  Range arguments;         ///< between the parentheses
  std::string_view first;  ///< first part of a dotted name; else the name
};
[[nodiscard]] std::vector<Call> calls_in(const Tokens& tokens, Range range);

/// Where the arguments of a call begin that may have template arguments or a launch configuration before them.
[[nodiscard]] Position arguments_at(const Tokens& tokens, Position at, Position end);

/// Whether it calls an operation of the device language: tl.load, or load after `from triton.language import load`.
[[nodiscard]] bool is_device_operation(const Tokens& tokens, const Call& call);

/// Arguments in the order of the parameters; those that are given by name find their places.
[[nodiscard]] std::vector<Range> by_position(const Tokens& tokens, const std::vector<std::string_view>& names,
                                             std::vector<Range> given);

/// name, name[i], a.b->c[i] that ends before `end`.
[[nodiscard]] Range place_before(const Tokens& tokens, Position end, Position begin);

/// What stands before the dot of a method call. Requires: the name is not the first of its text.
[[nodiscard]] Range object_of(const Tokens& tokens, const Call& call);

/// What a call gives; of a member function, its object first.
[[nodiscard]] std::vector<Range> arguments_of(const Tokens& tokens, const Call& call, bool method);

/// Parts of `range` between `separator`s outside of brackets.
[[nodiscard]] std::vector<Range> split_tokens(const Tokens& tokens, Range range, std::string_view separator);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
