#pragma once

/// \file
/// Whether, and where, a reference carries state along a dimension.

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "task/python_text.hpp"

namespace kernelgen {
inline namespace v0 {

/// Whether a reference carries state along a dimension: it uses a recurrent layer of torch.nn, or a loop takes one
/// slice of a tensor per iteration and a value from the previous one. Looks at structure, not at names, comments or
/// texts. A loop over layers is none: it takes its slices from the module itself.
[[nodiscard]] bool is_recurrent(std::string_view python);

/// "GRU", "LSTMCell", ...
[[nodiscard]] bool is_recurrent_layer(std::string_view name);

/// A loop that carries state, as a range of lines: its head, and one past its body.
struct RecurrentLoop {
  std::size_t head = 0;
  std::size_t end = 0;
  /// Names with values from the previous iteration.
  std::set<std::string, std::less<>> carried;
};
[[nodiscard]] std::vector<RecurrentLoop> find_recurrent_loops(const std::vector<Line>& lines);

}  // namespace v0
}  // namespace kernelgen
