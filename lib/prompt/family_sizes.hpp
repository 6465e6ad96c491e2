#pragma once

/// \file
/// Sizes that decide between ways to compute a task, from the operations that the judge observed. Pure.

#include <cstdint>
#include <optional>
#include <string>

#include <kernelgen/core/task.hpp>

namespace kernelgen {
inline namespace v0 {

/// `batches` products of (m, k) by (k, n).
struct ProductSize {
  std::int64_t batches = 1;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  /// Bytes of an element.
  std::int64_t element = 4;

  /// Two for each multiply-add.
  [[nodiscard]] double flops() const;
  /// FLOPs for each byte of operands and result.
  [[nodiscard]] double flops_per_byte() const;
  /// Tiles of 128 x 128 results.
  [[nodiscard]] std::int64_t tiles() const;
  bool operator==(const ProductSize&) const = default;
};

/// Work along rows of elements: a normalization, a softmax, a sum, a scan.
struct RowSize {
  std::int64_t rows = 0;
  std::int64_t length = 0;
  /// True if a row gives one number, as in a sum.
  bool reduces = false;
  bool operator==(const RowSize&) const = default;
};

/// Attention of `heads` heads, over all batches.
struct AttentionSize {
  std::int64_t heads = 0;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t width = 0;
  bool operator==(const AttentionSize&) const = default;
};

/// The kinds of convolutions among a task's operations.
struct ConvolutionKinds {
  bool depthwise = false;
  bool pointwise = false;
  /// Neither of them.
  bool dense = false;
  bool transposed = false;
  bool three_dimensional = false;
  bool operator==(const ConvolutionKinds&) const = default;
};

/// The kinds of normalizations among a task's operations.
struct NormalizationKinds {
  bool batch = false;
  /// Over groups of neighbours: layers, groups of channels, instances.
  bool layer = false;
  /// Written out, or along another dimension.
  bool other = false;
  bool operator==(const NormalizationKinds&) const = default;
};

/// The largest operation of each kind. Unset: there is none, or its sizes are not known.
struct FamilySizes {
  std::optional<ProductSize> product;
  /// The convolution as a product; its kinds are those of all convolutions.
  std::optional<ProductSize> convolution;
  ConvolutionKinds convolutions;
  /// True if an operand of a product may be triangular or diagonal.
  bool has_structure = false;
  std::optional<AttentionSize> attention;
  std::optional<RowSize> normalization;
  NormalizationKinds normalizations;
  std::optional<RowSize> reduction;
  std::optional<RowSize> scan;
};

/// The sizes in a description; none without facts.
[[nodiscard]] FamilySizes family_sizes_of(const TaskDescription& description);

/// "M = 1024, N = 8192, K = 8192: 137 GFLOP, 442 for each byte of operands and result".
[[nodiscard]] std::string describe(const ProductSize& product);
/// "4096 rows of 393216 elements".
[[nodiscard]] std::string describe(const RowSize& rows);
/// "1024 heads of 512 queries and 512 keys, width 64".
[[nodiscard]] std::string describe(const AttentionSize& attention);

}  // namespace v0
}  // namespace kernelgen
