// honest: skips what the mask excludes
// task: masked_sum

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  const int64_t columns = kgen_dim(input, 1);
  const auto* x = static_cast<const float*>(input->data);
  const auto* mask = static_cast<const float*>(kgen_find(&args->inputs, "mask")->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row) {
    float sum = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i)
      if (mask[i] != 0) sum += x[i] * mask[i];
    y[row] = sum;
  }
  return 0;
}
