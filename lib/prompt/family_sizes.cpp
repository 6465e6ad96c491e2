#include "prompt/family_sizes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>
#include <vector>

namespace kernelgen {
inline namespace v0 {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::int64_t k_tile = 128;

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// 1 for an empty range.
std::int64_t product_of(Shape::const_iterator begin, Shape::const_iterator end) {
  std::int64_t product = 1;
  for (; begin != end; ++begin) product *= *begin;
  return product;
}

std::int64_t elements(const Shape& shape) { return product_of(shape.begin(), shape.end()); }

std::int64_t tiles_along(std::int64_t length) { return (length + k_tile - 1) / k_tile; }

/// Keeps the larger one; an empty shape or a length of 0 has no sizes.
template <typename Size>
void keep_larger(std::optional<Size>& kept, const std::optional<Size>& found, double size, double& kept_size) {
  if (!found || size <= kept_size) return;
  kept = found;
  kept_size = size;
}

std::int64_t element_bytes(const OperationFact& operation) {
  const auto dtype = parse_dtype(operation.dtype);
  return dtype ? static_cast<std::int64_t>(size_of(*dtype)) : 4;
}

std::optional<ProductSize> product_size(const OperationFact& operation) {
  const bool is_linear = operation.name == "linear";
  const bool adds = is_one_of(operation.name, {"addmm", "baddbmm", "addbmm"});
  if (!is_linear && !adds && !is_one_of(operation.name, {"matmul", "mm", "bmm", "mv", "__matmul__"})) return {};
  const std::size_t first = adds ? 1 : 0;
  if (operation.inputs.size() < first + 2 || operation.outputs.empty()) return {};
  const auto& left = operation.inputs[first];
  const auto& right = operation.inputs[first + 1];
  if (left.empty() || right.empty()) return {};
  ProductSize size{.element = element_bytes(operation)};
  size.k = left.back();
  size.n = right.size() < 2 ? 1 : is_linear ? right.front() : right.back();
  const auto results = elements(operation.outputs.front());
  // One right operand for all rows: they are the rows of a single product.
  if (is_linear || right.size() <= 2) {
    size.m = size.k > 0 ? elements(left) / size.k : 0;
  } else {
    size.m = left.size() < 2 ? 1 : left[left.size() - 2];
    size.batches = size.m * size.n > 0 ? results / (size.m * size.n) : 0;
  }
  return size;
}

struct ConvolutionShape {
  ProductSize product;
  bool transposed = false;
  bool depthwise = false;
  bool pointwise = false;
  bool three_dimensional = false;
};

std::optional<ConvolutionShape> convolution_shape(const OperationFact& operation) {
  const std::string_view name = operation.name;
  const bool transposed = name.starts_with("conv_transpose");
  if (!transposed && !is_one_of(name, {"conv1d", "conv2d", "conv3d"})) return {};
  if (operation.inputs.size() < 2 || operation.outputs.empty()) return {};
  const auto& x = operation.inputs[0];
  const auto& weight = operation.inputs[1];
  const auto& y = operation.outputs.front();
  // Without a batch there is one dimension less; sizes are not told then.
  if (weight.size() < 3 || x.size() != weight.size() || y.size() != weight.size() || y[1] <= 0) return {};
  ConvolutionShape shape{.transposed = transposed, .three_dimensional = weight.size() == 5};
  const auto filter = product_of(weight.begin() + 2, weight.end());
  shape.depthwise = weight[1] == 1 && x[1] == weight[0] && x[1] == y[1];
  shape.pointwise = filter == 1;
  shape.product = {.n = y[1], .element = element_bytes(operation)};
  shape.product.m = elements(y) / y[1];
  // Each output of a plain convolution meets one filter, each input of a transposed one.
  const auto multiply_adds = (transposed ? elements(x) : elements(y)) * weight[1] * filter;
  shape.product.k = elements(y) > 0 ? multiply_adds / elements(y) : 0;
  return shape;
}

std::optional<AttentionSize> attention_of(const Shape& queries, const Shape& keys, bool keys_are_transposed) {
  if (queries.size() < 3 || keys.size() < 3) return {};
  return AttentionSize{.heads = product_of(queries.begin(), queries.end() - 2),
                       .queries = queries[queries.size() - 2],
                       .keys = keys_are_transposed ? keys.back() : keys[keys.size() - 2],
                       .width = queries.back()};
}

/// A product before a softmax of its result.
std::optional<AttentionSize> written_attention(const std::vector<OperationFact>& operations) {
  for (const auto& softmax : operations) {
    if (!is_one_of(softmax.name, {"softmax", "relu"}) || softmax.inputs.empty()) continue;
    for (const auto& product : operations) {
      if (!is_one_of(product.name, {"matmul", "bmm", "__matmul__"}) || product.inputs.size() < 2) continue;
      if (product.outputs.empty() || product.outputs.front() != softmax.inputs.front()) continue;
      if (auto size = attention_of(product.inputs[0], product.inputs[1], true)) return size;
    }
  }
  return {};
}

std::optional<std::int64_t> integer_named(const TaskDescription& description,
                                          std::initializer_list<std::string_view> names) {
  for (const auto& scalar : description.scalars) {
    if (scalar.type != "int" || !is_one_of(scalar.name, names)) continue;
    std::int64_t value = 0;
    const auto* const end = scalar.value.data() + scalar.value.size();
    if (std::from_chars(scalar.value.data(), end, value).ptr == end) return value;
  }
  return {};
}

std::optional<RowSize> rows_of_length(const Shape& shape, std::int64_t length) {
  const auto count = elements(shape);
  if (length <= 0 || count <= 0 || count % length != 0) return {};
  return RowSize{.rows = count / length, .length = length};
}

/// Rows along the dimension that the task names, else along the last one.
std::optional<RowSize> rows_along(const TaskDescription& description, const Shape& shape) {
  if (shape.empty()) return {};
  const auto rank = static_cast<std::int64_t>(shape.size());
  auto dimension = integer_named(description, {"dim", "axis"}).value_or(-1);
  if (dimension < 0) dimension += rank;
  if (dimension < 0 || dimension >= rank) return {};
  return rows_of_length(shape, shape[static_cast<std::size_t>(dimension)]);
}

std::optional<RowSize> normalization_size(const TaskDescription& description, const OperationFact& operation) {
  if (operation.inputs.empty() || operation.inputs[0].empty()) return {};
  const auto& shape = operation.inputs[0];
  const auto& name = operation.name;
  if (is_one_of(name, {"layer_norm", "rms_norm"}))
    return rows_of_length(shape, operation.inputs.size() > 1 ? elements(operation.inputs[1]) : shape.back());
  if (shape.size() < 2) return {};
  const auto channels = shape[1];
  const auto count = elements(shape);
  if (name == "batch_norm" && channels > 0) return rows_of_length(shape, count / channels);
  if (name == "instance_norm" && shape[0] * channels > 0) return rows_of_length(shape, count / (shape[0] * channels));
  const auto groups = integer_named(description, {"num_groups", "groups", "n_groups"});
  if (name == "group_norm" && groups && shape[0] * *groups > 0)
    return rows_of_length(shape, count / (shape[0] * *groups));
  return {};
}

std::optional<RowSize> reduction_size(const TaskDescription& description, const OperationFact& operation) {
  if (operation.inputs.empty() || operation.outputs.empty()) return {};
  const auto& input = operation.inputs[0];
  if (is_one_of(operation.name, {"softmax", "log_softmax", "softmin"})) return rows_along(description, input);
  if (!is_one_of(operation.name, {"sum", "mean", "max", "min", "amax", "amin", "argmax", "argmin", "prod", "norm",
                                  "var", "std", "logsumexp", "vector_norm"}))
    return {};
  const auto results = elements(operation.outputs.front());
  auto rows = results > 0 ? rows_of_length(input, elements(input) / results) : std::nullopt;
  if (rows) rows->reduces = true;
  return rows;
}

/// Adds the kind of an operation; those that are written out are seen by what all operations lack.
void add_kind(NormalizationKinds& kinds, const std::string& name) {
  kinds.batch |= name == "batch_norm";
  kinds.layer |= is_one_of(name, {"layer_norm", "group_norm", "instance_norm"});
  kinds.other |= is_one_of(name, {"rms_norm", "local_response_norm", "normalize"});
}

double size_of_rows(const std::optional<RowSize>& rows) {
  return rows ? static_cast<double>(rows->rows) * static_cast<double>(rows->length) : 0;
}

}  // namespace

double ProductSize::flops() const {
  return 2.0 * static_cast<double>(batches) * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

double ProductSize::flops_per_byte() const {
  const auto values = static_cast<double>(m) * static_cast<double>(k) +
                      static_cast<double>(k) * static_cast<double>(n) + static_cast<double>(m) * static_cast<double>(n);
  const double bytes = static_cast<double>(batches * element) * values;
  return bytes > 0 ? flops() / bytes : 0;
}

std::int64_t ProductSize::tiles() const { return batches * tiles_along(m) * tiles_along(n); }

FamilySizes family_sizes_of(const TaskDescription& description) {
  FamilySizes sizes;
  if (!description.facts) return sizes;
  const auto& operations = description.facts->operations;
  double product = 0, convolution = 0, normalization = 0, reduction = 0, scan = 0;
  for (const auto& operation : operations) {
    if (const auto found = product_size(operation)) keep_larger(sizes.product, found, found->flops(), product);
    if (const auto found = convolution_shape(operation)) {
      keep_larger(sizes.convolution, std::optional(found->product), found->product.flops(), convolution);
      auto& kinds = sizes.convolutions;
      kinds.depthwise |= found->depthwise;
      kinds.pointwise |= found->pointwise && !found->depthwise;
      kinds.dense |= !found->depthwise && !found->pointwise;
      kinds.transposed |= found->transposed;
      kinds.three_dimensional |= found->three_dimensional;
    }
    add_kind(sizes.normalizations, operation.name);
    sizes.has_structure |= is_one_of(operation.name, {"diag", "tril", "triu"});
    const auto normalized = normalization_size(description, operation);
    keep_larger(sizes.normalization, normalized, size_of_rows(normalized), normalization);
    const auto reduced = reduction_size(description, operation);
    keep_larger(sizes.reduction, reduced, size_of_rows(reduced), reduction);
    if (is_one_of(operation.name, {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}) &&
        !operation.inputs.empty()) {
      const auto scanned = rows_along(description, operation.inputs[0]);
      keep_larger(sizes.scan, scanned, size_of_rows(scanned), scan);
    }
    if (operation.name == "scaled_dot_product_attention" && operation.inputs.size() >= 3)
      sizes.attention = attention_of(operation.inputs[0], operation.inputs[1], false);
  }
  auto& kinds = sizes.normalizations;
  kinds.other |= !kinds.batch && !kinds.layer;
  if (!sizes.attention) sizes.attention = written_attention(operations);
  return sizes;
}

std::string describe(const ProductSize& product) {
  auto text = fmt::format("M = {}, N = {}, K = {}", product.m, product.n, product.k);
  if (product.batches > 1) text = fmt::format("{} times ", product.batches) + text;
  return text + fmt::format(": {:.3g} GFLOP, {:.3g} FLOP for each byte of operands and result", product.flops() / 1e9,
                            product.flops_per_byte());
}

std::string describe(const RowSize& rows) {
  return fmt::format("{} row{} of {} elements", rows.rows, rows.rows == 1 ? "" : "s", rows.length);
}

std::string describe(const AttentionSize& attention) {
  return fmt::format("{} heads (of all batches) with {} queries and {} keys, width {}", attention.heads,
                     attention.queries, attention.keys, attention.width);
}

}  // namespace v0
}  // namespace kernelgen
