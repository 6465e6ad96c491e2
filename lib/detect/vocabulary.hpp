#pragma once

/// \file
/// Names of the operators and operations that decide how a value contributes to another one.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace kernelgen {
inline namespace v0 {
namespace detect {

template <std::size_t N>
[[nodiscard]] bool one_of(std::string_view text, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// Operators with a result that is neither a sum nor a product of its operands.
[[nodiscard]] bool mixes(std::string_view text);
/// Operators that reduce: an operand is part of the result.
[[nodiscard]] bool joins(std::string_view text);
/// max, fminf, __hmax2, umin, ... of any type.
[[nodiscard]] bool is_maximum(std::string_view name);
/// Calls that return one of their arguments, or the greatest or smallest of them.
[[nodiscard]] bool passes_through(std::string_view name);
/// exp, log, and what rescales sums by them or by a counter: an online softmax, Welford's moments.
[[nodiscard]] bool is_exponent(std::string_view name);
/// Functions that are known not to be linear, exponents among them.
[[nodiscard]] bool is_curved(std::string_view name);
enum class Operation : std::uint8_t { None, Sum, Product, Fused };
/// What a function computes that is named like an operator: __hadd2, cuCmulf, __fmaf_rn, sub, advance.
[[nodiscard]] Operation operation_of(std::string_view name);
/// Calls that compute a b + c for matrices: the third argument is added.
[[nodiscard]] bool multiplies_matrices(std::string_view name);
/// Functions of generators of random numbers: curand_uniform, rocrand, next_random. They change their state.
[[nodiscard]] bool draws_numbers(std::string_view name);
/// Scans by the threads of a block or warp, (input, output, ..., total so far): InclusiveSum, ExclusiveScan.
[[nodiscard]] bool scans_block(std::string_view name);
/// Words of casts: (const float*)p.
[[nodiscard]] bool is_type(std::string_view name);
[[nodiscard]] bool loads(std::string_view name);
/// Reads a texture or a surface at coordinates: tex2D(texture, x, y).
[[nodiscard]] bool fetches(std::string_view name);

}  // namespace detect
}  // namespace v0
}  // namespace kernelgen
