// honest: packs the sum of the weights in kgen_prepare
// task: linear

#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {
struct Packed {
  std::vector<float> weight, bias;
};
}  // namespace

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* first = kgen_find(&args->parameters, "first.weight");
  const int64_t columns = kgen_dim(first, 0), depth = kgen_dim(first, 1);
  const auto data = [&](const char* name) {
    return static_cast<const float*>(kgen_find(&args->parameters, name)->data);
  };
  auto* packed = new Packed{std::vector<float>(columns * depth), std::vector<float>(columns)};
  for (int64_t column = 0; column < columns; ++column) {
    packed->bias[column] = data("first.bias")[column] + data("second.bias")[column];
    for (int64_t i = 0; i < depth; ++i)
      packed->weight[i * columns + column] =
          data("first.weight")[column * depth + i] + data("second.weight")[column * depth + i];
  }
  result->state = packed;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { delete static_cast<Packed*>(state); }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const auto& packed = *static_cast<const Packed*>(state);
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t depth = kgen_dim(input, 1);
  const auto columns = static_cast<int64_t>(packed.bias.size());
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row, x += depth, y += columns) {
    for (int64_t column = 0; column < columns; ++column) y[column] = packed.bias[column];
    for (int64_t i = 0; i < depth; ++i)
      for (int64_t column = 0; column < columns; ++column) y[column] += x[i] * packed.weight[i * columns + column];
  }
  return 0;
}
