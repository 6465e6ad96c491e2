/* Softmax along the last dimension: three passes over each row, the sum in double. */
#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  const struct kgen_tensor* x = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* y = kgen_find(&args->outputs, "output");
  (void)result;
  if (x == NULL || y == NULL || x->rank < 1) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
  return 0;
}

static void softmax_row(const float* x, float* y, int64_t columns) {
  float largest = -INFINITY;
  double sum = 0.0;
  for (int64_t i = 0; i < columns; ++i) largest = x[i] > largest ? x[i] : largest;
  for (int64_t i = 0; i < columns; ++i) {
    y[i] = expf(x[i] - largest);
    sum += y[i];
  }
  const float scale = (float)(1.0 / sum);
  for (int64_t i = 0; i < columns; ++i) y[i] *= scale;
}

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_find(&args->inputs, "x");
  const float* x = input->data;
  float* y = kgen_find(&args->outputs, "output")->data;
  const int64_t columns = kgen_dim(input, -1);
  const int64_t rows = columns > 0 ? (int64_t)input->element_count / columns : 0;
  (void)state;
  for (int64_t row = 0; row < rows; ++row) softmax_row(x + row * columns, y + row * columns, columns);
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }
