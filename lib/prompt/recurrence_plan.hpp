#pragma once

/// \file
/// How the work of a recurrence can be divided on a GPU, the best way first, and what of that a prompt has to tell.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <kernelgen/core/task.hpp>
#include <kernelgen/prompt/prompt_builder.hpp>

namespace kernelgen {
inline namespace v0 {

/// A way to divide a recurrence among blocks. The names are those of templates under strategies/recurrence/.
enum class RecurrenceSplit {
  OwnRows,    ///< a block has all units of some rows of the batch: nothing is exchanged
  Cluster,    ///< the units of a layer and direction are divided within a cluster
  Grid,       ///< ... among all blocks, which meet at a barrier
  Wavefront,  ///< all layers at once, each on blocks of its own
  Reread,     ///< ... among all blocks, which read the weights again in every step
};
/// "own_rows", "cluster".
[[nodiscard]] std::string_view to_string(RecurrenceSplit split);

/// The recurrence as far as it decides how to divide it.
struct RecurrenceSizes {
  /// Weights that multiply the state, of one layer and direction. 0: unknown.
  std::int64_t weight_bytes = 0;
  int depth = 1;
  int directions = 1;
};

/// What a GPU can hold. Sizes of a GPU that is not known are those that each GPU of the catalog has at least.
struct ChipSizes {
  int multiprocessors = 20;
  /// Bytes of weights that a multiprocessor can keep beside everything else.
  std::int64_t weight_bytes = 0;
  /// 0: there are no clusters.
  int cluster_blocks = 0;
};

/// The sizes of a GPU: half of its registers and the shared memory of one block are for weights, the rest for sums,
/// addresses, states and loads in flight.
[[nodiscard]] ChipSizes chip_sizes(const std::optional<GpuFacts>& gpu);

/// The ways that suit, the best one first; at least two for a GPU, none for a CPU and for `torch`. Pure.
[[nodiscard]] std::vector<RecurrenceSplit> order_splits(const RecurrenceSizes& recurrence, const ChipSizes& chip,
                                                        Target target, bool on_gpu);

/// The sizes of a task's recurrent layers; 0 bytes where they are unknown.
[[nodiscard]] RecurrenceSizes recurrence_sizes(const TaskDescription& task);

/// One sentence with the weights against what a multiprocessor, a cluster and the whole chip can hold, and what
/// follows. Empty where the weights are unknown, or the GPU is.
[[nodiscard]] std::string describe_sizes(const RecurrenceSizes& recurrence, const std::optional<GpuFacts>& gpu);

}  // namespace v0
}  // namespace kernelgen
