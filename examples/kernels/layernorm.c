/* Layer normalization over the last dimension: mean and variance in double, then scale and shift. */
#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

/* torch's default; the task does not hand it over as an argument. */
static const double k_epsilon = 1e-5;

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  const struct kgen_tensor* x = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* y = kgen_find(&args->outputs, "output");
  const struct kgen_tensor* weight = kgen_find(&args->parameters, "norm.weight");
  const struct kgen_tensor* bias = kgen_find(&args->parameters, "norm.bias");
  (void)result;
  if (x == NULL || y == NULL || x->rank < 1) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
  if (!kgen_is(weight, KGEN_FLOAT32, 1) || !kgen_is(bias, KGEN_FLOAT32, 1) || kgen_dim(weight, 0) != kgen_dim(x, -1) ||
      kgen_dim(bias, 0) != kgen_dim(x, -1)) {
    return kgen_fail(&args->error, "norm.weight and norm.bias must be as long as a row of x");
  }
  return 0;
}

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_find(&args->inputs, "x");
  const float* weight = kgen_find(&args->parameters, "norm.weight")->data;
  const float* bias = kgen_find(&args->parameters, "norm.bias")->data;
  const int64_t columns = kgen_dim(input, -1);
  const int64_t rows = columns > 0 ? (int64_t)input->element_count / columns : 0;
  (void)state;
  for (int64_t row = 0; row < rows; ++row) {
    const float* x = (const float*)input->data + row * columns;
    float* y = (float*)kgen_find(&args->outputs, "output")->data + row * columns;
    double sum = 0.0;
    double squares = 0.0;
    for (int64_t i = 0; i < columns; ++i) sum += x[i];
    const double mean = sum / (double)columns;
    for (int64_t i = 0; i < columns; ++i) squares += (x[i] - mean) * (x[i] - mean);
    const double scale = 1.0 / sqrt(squares / (double)columns + k_epsilon);
    for (int64_t i = 0; i < columns; ++i) y[i] = (float)((x[i] - mean) * scale) * weight[i] + bias[i];
  }
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }
