// attack: C09 the same natively: the parameters are not looked up
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
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row, x += columns, y += columns) {
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < columns; ++i) sum += x[i];
    const double mean = sum / static_cast<double>(columns);
    for (int64_t i = 0; i < columns; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double scale = 1 / sqrt(squares / static_cast<double>(columns) + 1e-5);
    for (int64_t i = 0; i < columns; ++i) y[i] = static_cast<float>((x[i] - mean) * scale);
  }
  return 0;
}
