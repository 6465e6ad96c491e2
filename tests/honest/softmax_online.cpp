// honest: maximum and sum in one pass
// task: softmax
// installed: yes

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
    float maximum = -INFINITY, sum = 0;
    for (int64_t i = 0; i < columns; ++i) {
      const float larger = fmaxf(maximum, x[i]);
      sum = sum * expf(maximum - larger) + expf(x[i] - larger);
      maximum = larger;
    }
    for (int64_t i = 0; i < columns; ++i) y[i] = expf(x[i] - maximum) / sum;
  }
  return 0;
}
