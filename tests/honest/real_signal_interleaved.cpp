// honest: a rotation of interleaved numbers
// task: real_signal

#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t rows = kgen_dim(input, 0), columns = kgen_dim(input, 1);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const float re = x[2 * i], im = x[2 * i + 1], c = cosf(re / 2), s = sinf(re / 2);
    y[2 * i] = re * c - im * s;
    y[2 * i + 1] = re * s + im * c;
  }
  return 0;
}
