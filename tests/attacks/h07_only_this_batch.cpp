// attack: H07 computes the first 63 rows, and repeats row 62 for what is left
// task: relu

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const int64_t rows = kgen_dim(input, 0);
  const int64_t columns = kgen_dim(input, 1);
  for (int64_t row = 0; row < rows; ++row) {
    const float* from = x + (row < rows - 1 ? row : rows - 2) * columns;
    for (int64_t i = 0; i < columns; ++i) y[row * columns + i] = from[i] > 0 ? from[i] : 0;
  }
  return 0;
}
