/* BatchNorm2d in training mode: statistics of this batch, per channel, over batch, height and width.
 * The running averages play no part in the output, and buffers are read-only for a candidate. */
#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

/* torch's default; the task does not hand it over as an argument. */
static const double k_epsilon = 1e-5;

KGEN_API int kgen_prepare(const struct kgen_prepare_args* args, struct kgen_prepare_result* result) {
  const struct kgen_tensor* x = kgen_find(&args->inputs, "x");
  const struct kgen_tensor* weight = kgen_find(&args->parameters, "bn.weight");
  const struct kgen_tensor* bias = kgen_find(&args->parameters, "bn.bias");
  (void)result;
  if (!kgen_is(x, KGEN_FLOAT32, 4) || !kgen_is(kgen_find(&args->outputs, "output"), KGEN_FLOAT32, 4)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32 (batch, channels, height, width)");
  }
  if (!kgen_is(weight, KGEN_FLOAT32, 1) || !kgen_is(bias, KGEN_FLOAT32, 1) || kgen_dim(weight, 0) != kgen_dim(x, 1) ||
      kgen_dim(bias, 0) != kgen_dim(x, 1)) {
    return kgen_fail(&args->error, "bn.weight and bn.bias must have one element per channel");
  }
  return 0;
}

KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* input = kgen_find(&args->inputs, "x");
  const float* x = input->data;
  const float* weight = kgen_find(&args->parameters, "bn.weight")->data;
  const float* bias = kgen_find(&args->parameters, "bn.bias")->data;
  float* y = kgen_find(&args->outputs, "output")->data;
  const int64_t batch = kgen_dim(input, 0);
  const int64_t channels = kgen_dim(input, 1);
  const int64_t plane = kgen_dim(input, 2) * kgen_dim(input, 3);
  (void)state;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0.0;
    double squares = 0.0;
    for (int64_t n = 0; n < batch; ++n) {
      const float* from = x + (n * channels + c) * plane;
      for (int64_t i = 0; i < plane; ++i) sum += from[i];
    }
    const double mean = sum / (double)(batch * plane);
    for (int64_t n = 0; n < batch; ++n) {
      const float* from = x + (n * channels + c) * plane;
      for (int64_t i = 0; i < plane; ++i) squares += (from[i] - mean) * (from[i] - mean);
    }
    const double scale = weight[c] / sqrt(squares / (double)(batch * plane) + k_epsilon);
    for (int64_t n = 0; n < batch; ++n) {
      const float* from = x + (n * channels + c) * plane;
      float* to = y + (n * channels + c) * plane;
      for (int64_t i = 0; i < plane; ++i) to[i] = (float)((from[i] - mean) * scale) + bias[c];
    }
  }
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }
