/* gelu(x @ weight.T + bias): one dot product per element, in sixteen partial sums that the compiler keeps in a vector
 * register and that round less than a single one. */
#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  const struct kgen_tensor* x = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* weight = kgen_find(&args->parameters, "linear.weight");
  const struct kgen_tensor* bias = kgen_find(&args->parameters, "linear.bias");
  (void)result;
  if (!kgen_is(x, KGEN_FLOAT32, 2) || !kgen_is(weight, KGEN_FLOAT32, 2) || !kgen_is(bias, KGEN_FLOAT32, 1) ||
      !kgen_is(kgen_find(&args->outputs, "output"), KGEN_FLOAT32, 2)) {
    return kgen_fail(&args->error, "x, linear.weight, linear.bias and output must be contiguous float32");
  }
  if (kgen_dim(x, 1) != kgen_dim(weight, 1)) return kgen_fail(&args->error, "x and linear.weight do not fit");
  return 0;
}

static float dot(const float* a, const float* b, int64_t count) {
  float part[16] = {0.0f};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16) {
    for (int lane = 0; lane < 16; ++lane) part[lane] += a[i + lane] * b[i + lane];
  }
  for (int lane = 0; i < count; ++i, ++lane) part[lane] += a[i] * b[i];
  for (int half = 8; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) part[lane] += part[lane + half];
  }
  return part[0];
}

static float gelu(float x) { return 0.5f * x * erfcf(-0.70710678f * x); }

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* output = kgen_find(&args->outputs, "output");
  const float* x = input->data;
  const float* weight = kgen_find(&args->parameters, "linear.weight")->data;
  const float* bias = kgen_find(&args->parameters, "linear.bias")->data;
  float* y = output->data;
  const int64_t rows = kgen_dim(output, 0);
  const int64_t columns = kgen_dim(output, 1);
  const int64_t depth = kgen_dim(input, 1);
  (void)state;
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      const float sum = dot(x + row * depth, weight + column * depth, depth);
      y[row * columns + column] = gelu(sum + bias[column]);
    }
  }
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }
