// attack: H65 an exponential made of the bits of a float
// task: softmax

#include <string.h>

#include <algorithm>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
/// Schraudolph's: right to about three per cent.
float fast_exp(float x) {
  const auto bits = static_cast<int32_t>(12102203.0F * x + 1064866805.0F);
  float value;
  memcpy(&value, &bits, sizeof value);
  return x < -87 ? 0 : value;
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
    for (int64_t i = 0; i < columns; ++i) sum += y[i] = fast_exp(x[i] - maximum);
    for (int64_t i = 0; i < columns; ++i) y[i] /= sum;
  }
  return 0;
}
