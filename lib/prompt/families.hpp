#pragma once

/// \file
/// What kinds of work a task consists of, as its source and its tensors show; knowledge for prompts is chosen by it.

#include <string_view>
#include <vector>

#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace v0 {

/// A kind of work that has knowledge of its own: a template knowledge/NAME.
enum class Family {
  Network,  ///< several layers of different kinds
  Attention,
  Convolution,
  Gemm,
  Scan,
  Normalization,
  Loss,
  Reduction,
  Pooling,
  Elementwise,  ///< nothing else was found
};
[[nodiscard]] std::string_view to_string(Family family);

/// Those that matter for this task, by what usually takes most of the time; four at most. Recurrence is told apart by
/// is_recurrent().
[[nodiscard]] std::vector<Family> families_of(std::string_view python, const TaskDescription& description);

}  // namespace v0
}  // namespace kernelgen
