// honest: one pass, sine and cosine from the buffers
// task: rotary

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t length = kgen_dim(input, 1), half = kgen_dim(input, 2) / 2;
  const auto* x = static_cast<const float*>(input->data);
  const auto* cosines = static_cast<const float*>(kgen_find(&args->buffers, "cos")->data);
  const auto* sines = static_cast<const float*>(kgen_find(&args->buffers, "sin")->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < kgen_dim(input, 0) * length; ++row, x += 2 * half, y += 2 * half) {
    const float* c = cosines + row % length * half;
    const float* s = sines + row % length * half;
    for (int64_t i = 0; i < half; ++i) {
      y[i] = x[i] * c[i] - x[half + i] * s[i];
      y[half + i] = x[i] * s[i] + x[half + i] * c[i];
    }
  }
  return 0;
}
