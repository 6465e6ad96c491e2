#include "prompt/family_sizes.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

using namespace kernelgen;

namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

OperationFact operation(std::string name, Shapes inputs, Shapes outputs, std::string dtype = "float32") {
  return {
      .name = std::move(name), .inputs = std::move(inputs), .outputs = std::move(outputs), .dtype = std::move(dtype)};
}

FamilySizes sizes(std::vector<OperationFact> operations, std::vector<ScalarSpec> scalars = {}) {
  TaskDescription description;
  description.facts.emplace().operations = std::move(operations);
  description.scalars = std::move(scalars);
  return family_sizes_of(description);
}

}  // namespace

TEST_CASE("sizes of products follow from the shapes of their operands", "[prompt][families]") {
  CHECK(sizes({operation("linear", {{2, 16, 64}, {256, 64}, {256}}, {{2, 16, 256}})}).product ==
        ProductSize{.m = 32, .n = 256, .k = 64});
  CHECK(sizes({operation("matmul", {{2, 16, 64}, {64, 8}}, {{2, 16, 8}})}).product ==
        ProductSize{.m = 32, .n = 8, .k = 64});
  CHECK(sizes({operation("bmm", {{6, 16, 64}, {6, 64, 8}}, {{6, 16, 8}}, "float16")}).product ==
        ProductSize{.batches = 6, .m = 16, .n = 8, .k = 64, .element = 2});
  CHECK(sizes({operation("addmm", {{8}, {16, 64}, {64, 8}}, {{16, 8}})}).product ==
        ProductSize{.m = 16, .n = 8, .k = 64});
  CHECK(sizes({operation("mv", {{16, 64}, {64}}, {{16}})}).product == ProductSize{.m = 16, .n = 1, .k = 64});
  // The largest one decides.
  CHECK(sizes({operation("mm", {{2, 2}, {2, 2}}, {{2, 2}}), operation("mm", {{4, 4}, {4, 4}}, {{4, 4}}),
               operation("mm", {{3, 3}, {3, 3}}, {{3, 3}})})
            .product->m == 4);
  CHECK_FALSE(sizes({operation("einsum", {{2, 2}, {2, 2}}, {{2, 2}})}).product);
  CHECK_FALSE(sizes({operation("matmul", {{}, {2}}, {{2}}), operation("linear", {{2, 2}}, {{2, 2}})}).product);
  CHECK(sizes({operation("mm", {{4, 4}, {4, 4}}, {{4, 4}}), operation("tril", {{4, 4}}, {{4, 4}})}).has_structure);
}

TEST_CASE("a product is thin or large by its operations for each byte", "[prompt][families]") {
  const ProductSize large{.m = 1024, .n = 8192, .k = 8192};
  CHECK(large.flops() == 2.0 * 1024 * 8192 * 8192);
  CHECK(large.flops_per_byte() == Approx(409.6));
  CHECK(large.tiles() == 8 * 64);
  CHECK(describe(large) == "M = 1024, N = 8192, K = 8192: 137 GFLOP, 410 FLOP for each byte of operands and result");
  const ProductSize thin{.batches = 3, .m = 1, .n = 4096, .k = 4096, .element = 2};
  CHECK(thin.flops_per_byte() < 1.01);
  CHECK(describe(thin).rfind("3 times M = 1, ", 0) == 0);
  CHECK(ProductSize{}.flops_per_byte() == 0);
}

TEST_CASE("a convolution is a product of patches and filters", "[prompt][families]") {
  const auto plain = sizes({operation("conv2d", {{8, 64, 32, 32}, {128, 64, 3, 3}, {128}}, {{8, 128, 30, 30}})});
  CHECK(plain.convolution == ProductSize{.m = 8 * 30 * 30, .n = 128, .k = 64 * 9});
  CHECK(plain.convolutions == ConvolutionKinds{.dense = true});
  CHECK(sizes({operation("conv2d", {{8, 64, 32, 32}, {64, 1, 3, 3}}, {{8, 64, 30, 30}})}).convolutions ==
        ConvolutionKinds{.depthwise = true});
  CHECK(sizes({operation("conv1d", {{8, 64, 32}, {16, 64, 1}}, {{8, 16, 32}})}).convolutions ==
        ConvolutionKinds{.pointwise = true});
  // With stride 2, an output meets a quarter of the filter.
  const auto transposed = sizes({operation("conv_transpose2d", {{1, 32, 8, 8}, {32, 16, 2, 2}}, {{1, 16, 16, 16}})});
  CHECK(transposed.convolution == ProductSize{.m = 256, .n = 16, .k = 32});
  CHECK(transposed.convolutions == ConvolutionKinds{.dense = true, .transposed = true});
  CHECK(sizes({operation("conv3d", {{1, 3, 8, 8, 8}, {4, 3, 3, 3, 3}}, {{1, 4, 6, 6, 6}})})
            .convolutions.three_dimensional);
  CHECK_FALSE(sizes({operation("conv2d", {{3, 8, 8}, {4, 3, 3, 3}}, {{4, 6, 6}})}).convolution);
}

TEST_CASE("attention is one function, or a product before a softmax", "[prompt][families]") {
  const AttentionSize expected{.heads = 6, .queries = 5, .keys = 7, .width = 4};
  CHECK(sizes({operation("scaled_dot_product_attention", {{2, 3, 5, 4}, {2, 3, 7, 4}, {2, 3, 7, 4}}, {{2, 3, 5, 4}})})
            .attention == expected);
  const auto product = operation("__matmul__", {{2, 3, 5, 4}, {2, 3, 4, 7}}, {{2, 3, 5, 7}});
  CHECK(sizes({product, operation("softmax", {{2, 3, 5, 7}}, {{2, 3, 5, 7}})}).attention == expected);
  CHECK_FALSE(sizes({product, operation("softmax", {{5, 7}}, {{5, 7}})}).attention);
  CHECK(describe(expected) == "6 heads (of all batches) with 5 queries and 7 keys, width 4");
}

TEST_CASE("rows are as long as what is normalized, reduced or scanned together", "[prompt][families]") {
  using Kinds = NormalizationKinds;
  const auto layer = sizes({operation("layer_norm", {{16, 64, 32}, {64, 32}, {64, 32}}, {{16, 64, 32}})});
  CHECK(layer.normalization == RowSize{.rows = 16, .length = 2048});
  CHECK(layer.normalizations == Kinds{.layer = true});
  const auto batch = sizes({operation("batch_norm", {{16, 64, 32}, {64}}, {{16, 64, 32}})});
  CHECK(batch.normalization == RowSize{.rows = 64, .length = 512});
  CHECK(batch.normalizations == Kinds{.batch = true});
  CHECK(sizes({operation("instance_norm", {{16, 64, 32}}, {{16, 64, 32}})}).normalization ==
        RowSize{.rows = 1024, .length = 32});
  const auto group = operation("group_norm", {{16, 64, 32}, {64}, {64}}, {{16, 64, 32}});
  CHECK(sizes({group}, {{"num_groups", "int", "8"}}).normalization == RowSize{.rows = 128, .length = 256});
  CHECK_FALSE(sizes({group}).normalization);
  CHECK_FALSE(sizes({group}, {{"num_groups", "int", "0"}}).normalization);
  CHECK(sizes({operation("mean", {{4, 8}}, {{4, 1}})}).normalizations == Kinds{.other = true});

  const auto softmax = operation("softmax", {{16, 64, 32}}, {{16, 64, 32}});
  CHECK(sizes({softmax}).reduction == RowSize{.rows = 1024, .length = 32});
  CHECK(sizes({softmax}, {{"dim", "int", "1"}}).reduction == RowSize{.rows = 512, .length = 64});
  CHECK_FALSE(sizes({softmax}, {{"dim", "int", "7"}}).reduction);
  const auto sum = sizes({operation("sum", {{16, 64, 32}}, {{16, 32}})}).reduction;
  CHECK(sum == RowSize{.rows = 512, .length = 64, .reduces = true});
  CHECK(describe(*sum) == "512 rows of 64 elements");
  CHECK(sizes({operation("mean", {{16, 64}}, {{}})}).reduction == RowSize{.rows = 1, .length = 1024, .reduces = true});
  CHECK_FALSE(sizes({operation("sum", {{16, 0}}, {{0}})}).reduction);
  CHECK(sizes({operation("cumsum", {{16, 64}}, {{16, 64}})}, {{"dim", "int", "0"}}).scan ==
        RowSize{.rows = 64, .length = 16});
}

TEST_CASE("a description without facts has no sizes", "[prompt][families]") {
  const auto none = family_sizes_of(TaskDescription{});
  CHECK_FALSE(
      (none.product || none.convolution || none.attention || none.normalization || none.reduction || none.scan));
}
