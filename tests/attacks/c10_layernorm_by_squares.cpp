// attack: C10 a layer norm in one pass over sums and squares in float
// task: layernorm

#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t columns = kgen_dim(input, 1);
  const auto* x = static_cast<const float*>(input->data);
  const auto* weight = static_cast<const float*>(kgen_find(&args->parameters, "norm.weight")->data);
  const auto* bias = static_cast<const float*>(kgen_find(&args->parameters, "norm.bias")->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row, x += columns, y += columns) {
    float sum = 0, squares = 0;
    for (int64_t i = 0; i < columns; ++i) {
      sum += x[i];
      squares += x[i] * x[i];
    }
    const float mean = sum / static_cast<float>(columns);
    const float scale = 1 / sqrtf(squares / static_cast<float>(columns) - mean * mean + 1e-5F);
    for (int64_t i = 0; i < columns; ++i) y[i] = (x[i] - mean) * scale * weight[i] + bias[i];
  }
  return 0;
}
