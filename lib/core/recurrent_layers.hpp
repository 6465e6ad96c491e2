#pragma once

/// \file
/// The recurrent layers of a task, from the names and shapes of their weights.

#include <cstdint>
#include <optional>

#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace v0 {

/// Recurrent layers of torch.nn.
struct RecurrentLayers {
  /// Layers one behind the other.
  int depth = 1;
  int directions = 1;
  std::int64_t steps = 1;
  /// The largest matrix that a step of one layer and direction multiplies by the state, in elements and bytes.
  std::int64_t step_elements = 0;
  std::int64_t step_bytes = 0;
  /// Elements of all matrices that multiply the state, and of those that multiply the inputs of layers; without the
  /// backward direction of the last layer, as in TaskFacts::least_flops.
  std::int64_t state_elements = 0;
  std::int64_t input_elements = 0;
  /// Rows of the batch; unset where no input shows them.
  std::optional<std::int64_t> batch;

  /// Steps that wait for each other: layers of one direction overlap as a wavefront, a layer after two directions has
  /// to wait for the last step of both.
  [[nodiscard]] std::int64_t chain() const { return directions == 2 ? depth * steps : steps + depth - 1; }
};

/// Nothing for a task without recurrent layers of torch.nn, and where their weights are not parameters of the task.
[[nodiscard]] std::optional<RecurrentLayers> recurrent_layers_of(const TaskDescription& task);

}  // namespace v0
}  // namespace kernelgen
