#pragma once

/// \file
/// Sizes of tiles in a source, and how far they must shrink to fit.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {

/// The sizes that a Triton launch, or one of its configurations, gives: "BLOCK_M", 128; "num_stages", 3.
struct TileConstant {
  std::string name;
  std::int64_t value = 0;
};
using TileConfig = std::vector<TileConstant>;

/// Every launch or triton.Config of a source that names sizes of tiles; equal ones once.
[[nodiscard]] std::vector<TileConfig> read_tile_constants(std::string_view source);

/// One constant made smaller.
struct Step {
  std::string name;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

/// Constants made smaller together, and what is left to allocate then.
struct Change {
  std::vector<Step> steps;
  std::int64_t bytes = 0;
};

/// The smallest changes after which `required` bytes fit into `limit`: fewest halvings and stages first, then what
/// leaves the most in use. Operands of tl.dot stay at least 16 in every dimension. Empty where nothing is enough, or no
/// sizes are known. Shared memory is taken to be stages x (M + N) x K where the sizes have such names, else stages x
/// the product of all.
[[nodiscard]] std::vector<Change> plan_shrink(const std::vector<TileConfig>& configs, std::int64_t required,
                                              std::int64_t limit);

/// A __shared__ array of a CUDA or HIP source whose size can be worked out.
struct SharedArray {
  std::string name;
  std::int64_t bytes = 0;
};

/// Largest first.
[[nodiscard]] std::vector<SharedArray> read_shared_arrays(std::string_view source);

}  // namespace v0
}  // namespace kernelgen
