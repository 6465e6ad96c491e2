// honest: row by row in C, sums in double
// task: log_softmax

#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  (void)args;
  (void)result;
  return 0;
}
KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t columns = kgen_dim(input, 1);
  const float* x = input->data;
  float* y = kgen_at(&args->outputs, 0)->data;
  (void)state;
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row, x += columns, y += columns) {
    float maximum = x[0];
    double sum = 0;
    for (int64_t i = 1; i < columns; ++i) maximum = fmaxf(maximum, x[i]);
    for (int64_t i = 0; i < columns; ++i) sum += exp((double)x[i] - maximum);
    const double shift = maximum + log(sum);
    for (int64_t i = 0; i < columns; ++i) y[i] = (float)(x[i] - shift);
  }
  return 0;
}
