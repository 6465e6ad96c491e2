#pragma once

/// \file
/// Sizes of tiles in a source, and how much to reduce them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// A tile size in a Triton launch or configuration: "BLOCK_M", 128; "num_stages", 3.
struct TileConstant {
  std::string name;
  std::int64_t value = 0;
};
using TileConfig = std::vector<TileConstant>;

/// Reads every launch or triton.Config of a source that names sizes of tiles; equal ones once.
[[nodiscard]] std::vector<TileConfig> read_tile_constants(std::string_view source);

/// The reduction of one constant.
struct Step {
  std::string name;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// Constants to reduce together, and the bytes that they need then.
struct Change {
  std::vector<Step> steps;
  std::int64_t bytes = 0;
};

/// The smallest changes after which `required` bytes fit into `limit`: fewest halvings and stages first, then the
/// change that leaves the most in use. Operands of tl.dot stay at least 16 in every dimension. Empty where nothing is
/// enough, or no sizes are known. Shared memory is estimated as stages x (M + N) x K where the sizes have such names,
/// else stages x the product of all.
[[nodiscard]] std::vector<Change> plan_shrink(const std::vector<TileConfig>& configs, std::int64_t required,
                                              std::int64_t limit);

/// A __shared__ array of known size in a CUDA or HIP source.
struct SharedArray {
  std::string name;
  std::int64_t bytes = 0;
};

/// Reads the arrays, largest first.
[[nodiscard]] std::vector<SharedArray> read_shared_arrays(std::string_view source);

}  // namespace v0
}  // namespace kernelgen
