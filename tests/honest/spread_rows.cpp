// honest: negates each row once and copies it
// task: spread

#include <string.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* output = kgen_at(&args->outputs, 0);
  const int64_t copies = kgen_dim(output, 1), columns = kgen_dim(output, 2);
  const auto* x = static_cast<const float*>(kgen_at(&args->inputs, 0)->data);
  auto* y = static_cast<float*>(output->data);
  for (int64_t row = 0; row < kgen_dim(output, 0); ++row, x += columns) {
    float* first = y;
    for (int64_t i = 0; i < columns; ++i) first[i] = -x[i];
    y += columns;
    for (int64_t copy = 1; copy < copies; ++copy, y += columns) memcpy(y, first, columns * sizeof(float));
  }
  return 0;
}
