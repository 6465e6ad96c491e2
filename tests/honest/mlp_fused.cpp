// honest: both layers for a block of rows, GELU fused, OpenMP over the blocks
// task: mlp

#include <math.h>

#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {

/// out[rows x columns] = in[rows x depth] * weight[columns x depth]^T + bias
void linear(const float* in, const float* weight, const float* bias, float* out, int64_t rows, int64_t depth,
            int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      float parts[16] = {};
      for (int64_t i = 0; i < depth; i += 16)
        for (int64_t lane = 0; lane < 16; ++lane)
          parts[lane] += in[row * depth + i + lane] * weight[column * depth + i + lane];
      float sum = bias[column];
      for (const float part : parts) sum += part;
      out[row * columns + column] = sum;
    }
}

}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const kgen_tensor* first = kgen_find(&args->parameters, "first.weight");
  const int64_t rows = kgen_dim(x, 0), width = kgen_dim(x, 1), hidden = kgen_dim(first, 0);
  if (width % 16 != 0 || hidden % 16 != 0) return kgen_fail(&args->error, "widths must be multiples of 16");
  const auto data = [&](const char* name) {
    return static_cast<const float*>(kgen_find(&args->parameters, name)->data);
  };
  const auto* in = static_cast<const float*>(x->data);
  auto* out = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
#pragma omp parallel for
  for (int64_t row = 0; row < rows; row += 4) {
    const int64_t here = rows - row < 4 ? rows - row : 4;
    std::vector<float> between(here * hidden);
    linear(in + row * width, data("first.weight"), data("first.bias"), between.data(), here, width, hidden);
    for (float& value : between) value = 0.5F * value * (1 + erff(value * 0.70710678F));
    linear(between.data(), data("second.weight"), data("second.bias"), out + row * width, here, hidden, width);
  }
  return 0;
}
