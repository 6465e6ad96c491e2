#include "prompt/family_data.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

#include <kernelgen/prompt/knowledge_topics.hpp>

namespace kernelgen {
inline namespace v0 {
namespace {

/// Below this many FLOPs for each byte, reading the operands takes longer than multiplying them: float32 on GPUs of the
/// catalog allows 10 to 20.
constexpr double k_thin_flops_per_byte = 12;
/// Fewer tiles of 128 x 128 than large GPUs have multiprocessors.
constexpr std::int64_t k_few_tiles = 132;
/// FLOPs from which splitting float32 operands pays: smaller products are bound by launches and memory.
constexpr double k_large_flops = 1e9;
constexpr std::int64_t k_wide_head = 256;
constexpr std::int64_t k_few_queries = 16;
/// Elements: one warp's row, one block's row in registers, and a row in the shared memory of eight blocks.
constexpr std::int64_t k_warp_row = 1024;
constexpr std::int64_t k_block_row = 32'768;
constexpr std::int64_t k_cluster_row = 8 * 227 * 1024 / 4;
/// Rows that do not fill a large GPU with a block each, and the elements from which that matters.
constexpr std::int64_t k_few_rows = 264;
constexpr std::int64_t k_many_elements = 1 << 18;

bool has(const std::vector<std::string>& features, std::string_view feature) {
  return std::find(features.begin(), features.end(), feature) != features.end();
}

bool is_few(const RowSize& rows) { return rows.rows < k_few_rows && rows.rows * rows.length >= k_many_elements; }

bool is_thin(const ProductSize& product) { return product.flops_per_byte() < k_thin_flops_per_byte; }

bool multiplies(KnowledgeTopic topic) {
  return topic == KnowledgeTopic::Attention || topic == KnowledgeTopic::Convolution || topic == KnowledgeTopic::Gemm;
}

/// The product that takes most of the time: of a convolution, or of matrices.
std::optional<ProductSize> main_product(const FamilySizes& sizes) {
  if (!sizes.convolution || (sizes.product && sizes.product->flops() > sizes.convolution->flops()))
    return sizes.product;
  return sizes.convolution;
}

std::string triton_product_example(KnowledgeTopic topic, const FamilySizes& sizes) {
  if (topic == KnowledgeTopic::Attention)
    return sizes.attention && sizes.attention->width > k_wide_head ? "triton/gemm" : "triton/attention";
  if (topic == KnowledgeTopic::Convolution)
    return sizes.convolution && !sizes.convolutions.dense && !sizes.convolutions.pointwise ? "" : "triton/convolution";
  return sizes.product && is_thin(*sizes.product) ? "" : "triton/gemm";
}

std::string native_product_example(const FamilySizes& sizes, PrecisionClass precision, const KernelPlace& place) {
  const auto product = main_product(sizes);
  if (product && is_thin(*product)) return "";
  if (sizes.convolution && !sizes.convolutions.dense && !sizes.convolutions.pointwise && !sizes.product) return "";
  // With matrix units, a prompt for HIP shows their instruction instead (partials/hip_matrix).
  const bool is_strict = precision == PrecisionClass::Strict;
  if (has(place.features, "mfma") || (has(place.features, "wmma") && !is_strict)) return "";
  const bool is_large = product && product->flops() >= k_large_flops;
  return place.target == Target::Cuda && has(place.features, "tf32") && is_large ? "cuda/gemm_tf32x3" : "gpu/gemm";
}

std::string rows_example(const std::optional<RowSize>& rows, const KernelPlace& place) {
  if (!rows || rows->length <= k_block_row) return "";
  const bool is_triton = place.target == Target::Triton;
  if (rows->reduces) return !is_few(*rows) ? "" : is_triton ? "triton/split_reduction" : "gpu/split_reduction";
  if (is_few(*rows)) return is_triton ? "triton/split_rows" : "gpu/split_rows";
  if (is_triton) return "triton/long_rows";
  const bool fits = rows->length <= k_cluster_row && place.target == Target::Cuda && has(place.features, "sm90");
  return fits ? "cuda/cluster_rows" : "";
}

std::string example_of(KnowledgeTopic topic, const FamilySizes& sizes, PrecisionClass precision,
                       const KernelPlace& place) {
  const bool is_triton = place.target == Target::Triton;
  if (multiplies(topic))
    return is_triton ? triton_product_example(topic, sizes) : native_product_example(sizes, precision, place);
  switch (topic) {
    case KnowledgeTopic::Normalization:
      return rows_example(sizes.normalization, place);
    case KnowledgeTopic::Reduction:
      return rows_example(sizes.reduction, place);
    case KnowledgeTopic::Loss:
      return is_triton ? "triton/split_reduction" : "gpu/split_reduction";
    case KnowledgeTopic::Scan:
      return is_triton ? "triton/scan" : place.target == Target::Cuda ? "cuda/scan" : "";
    default:
      return "";
  }
}

/// Sizes that are not known leave every way open.
void set_rows(TemplateData& data, const std::string& name, const std::optional<RowSize>& rows) {
  TemplateData row{kainjow::mustache::data::type::object};
  const auto length = rows ? rows->length : 0;
  row.set("has_rows_size", rows.has_value());
  row.set("rows_size", rows ? describe(*rows) : "");
  row.set("tells_short_rows", !rows || length <= k_warp_row);
  row.set("tells_block_rows", !rows || (length > k_warp_row && length <= k_block_row));
  row.set("tells_long_rows", !rows || length > k_block_row);
  row.set("tells_few_rows", !rows || is_few(*rows));
  row.set("tells_many_rows", !rows || !is_few(*rows));
  data.set(name, row);
}

void set_products(TemplateData& data, const FamilySizes& sizes) {
  const auto& product = sizes.product;
  data.set("has_product_size", product.has_value());
  data.set("product_size", product ? describe(*product) : "");
  data.set("has_thin_product", product && is_thin(*product));
  data.set("has_few_tiles", product && product->tiles() < k_few_tiles);
  const auto& convolution = sizes.convolution;
  const auto& kinds = sizes.convolutions;
  data.set("has_convolution_size", convolution && (kinds.dense || kinds.pointwise));
  data.set("convolution_size", convolution ? describe(*convolution) : "");
  data.set("has_depthwise", !convolution || kinds.depthwise);
  data.set("has_pointwise", !convolution || kinds.pointwise);
  data.set("has_dense_filter", !convolution || kinds.dense);
  data.set("has_transposed", !convolution || kinds.transposed);
  data.set("has_3d", convolution && kinds.three_dimensional);
  const auto& attention = sizes.attention;
  data.set("has_attention_size", attention.has_value());
  data.set("attention_size", attention ? describe(*attention) : "");
  data.set("attention_width", attention ? std::to_string(attention->width) : "");
  data.set("has_wide_heads", attention && attention->width > k_wide_head);
  data.set("has_few_queries", !attention || attention->queries <= k_few_queries);
}

/// The arguments of tl.dot and of its launch in an example: what compiles without spills (python.hints).
void set_dot(TemplateData& data, const TaskDescription& description, const FamilySizes& sizes,
             const KernelPlace& place) {
  const bool is_strict = description.precision == PrecisionClass::Strict;
  data.set("dot_precision", place.is_amd ? "ieee" : is_strict ? "tf32x3" : "tf32");
  const auto product = main_product(sizes);
  const bool plain_units = place.is_amd && !has(place.features, "mfma");
  const bool is_large = product && product->tiles() >= k_few_tiles && !plain_units;
  data.set("dot_tile", is_large ? "128, 128, 32" : plain_units ? "64, 64, 16" : "64, 64, 32");
  data.set("dot_warps", is_large ? "8" : "4");
  data.set("dot_stages", place.is_amd ? "2" : "3");
}

}  // namespace

std::string family_example(const TaskDescription& description, const KernelPlace& place) {
  if (place.target != Target::Cuda && place.target != Target::Hip && place.target != Target::Triton) return "";
  const auto topics = knowledge_topics_of(description);
  const auto sizes = family_sizes_of(description);
  for (const auto topic : topics) {
    auto example = example_of(topic, sizes, description.precision, place);
    // Behind a product, other work is its epilogue.
    if (!example.empty() || multiplies(topic)) return example;
  }
  return "";
}

void set_families(TemplateData& data, const TaskDescription& description, const KernelPlace& place) {
  const auto sizes = family_sizes_of(description);
  const auto example = family_example(description, place);
  data.set(k_family_example, example);
  data.set("has_split_product_example", example == "cuda/gemm_tf32x3");
  set_products(data, sizes);
  set_dot(data, description, sizes, place);
  data.set("has_structure", sizes.has_structure);
  data.set("has_batch_norm", sizes.normalizations.batch);
  data.set("has_layer_norm", sizes.normalizations.layer);
  data.set("has_other_norm", sizes.normalizations.other);
  set_rows(data, "normalization_rows", sizes.normalization);
  set_rows(data, "reduction_rows", sizes.reduction);
  set_rows(data, "scan_rows", sizes.scan);
}

}  // namespace v0
}  // namespace kernelgen
