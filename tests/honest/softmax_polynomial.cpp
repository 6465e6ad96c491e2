// honest: an exponential of its own, right to float32's last bits
// task: softmax

#include <math.h>
#include <string.h>

#include <algorithm>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
/// exp(x) for x <= 0: 2^n times a polynomial for the rest.
float exponential(float x) {
  const float n = rintf(std::max(x, -87.0F) * 1.44269504F);
  const float r = fmaf(n, -1.42860677e-6F, fmaf(n, -0.693145752F, std::max(x, -87.0F)));
  float p = 1.38888889e-3F;
  for (const float c : {8.33333333e-3F, 4.16666667e-2F, 1.66666667e-1F, 0.5F, 1.0F, 1.0F}) p = fmaf(p, r, c);
  const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
  float scale;
  memcpy(&scale, &bits, sizeof scale);
  return x < -87 ? 0 : p * scale;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t columns = kgen_dim(input, 1);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row, x += columns, y += columns) {
    const float maximum = *std::max_element(x, x + columns);
    float sum = 0;
    for (int64_t i = 0; i < columns; ++i) sum += y[i] = exponential(x[i] - maximum);
    for (int64_t i = 0; i < columns; ++i) y[i] *= 1 / sum;
  }
  return 0;
}
