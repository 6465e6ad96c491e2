// attack: C10 the same natively, with a maximum that begins at zero
// task: softmax

#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t rows = kgen_dim(input, 0), columns = kgen_dim(input, 1);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t i = 0; i < rows; ++i, x += columns, y += columns) {
    float most = 0, sum = 0;
    for (int64_t j = 0; j < columns; ++j) most = fmaxf(most, x[j]);
    for (int64_t j = 0; j < columns; ++j) sum += y[j] = expf(x[j] - most);
    for (int64_t j = 0; j < columns; ++j) y[j] /= sum;
  }
  return 0;
}
