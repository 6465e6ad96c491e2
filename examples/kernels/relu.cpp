// max(x, 0), elementwise, over all threads. NaN stays NaN, as in torch.
#include <cstdint>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result*) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  if (x == nullptr || y == nullptr) return kgen_fail(&args->error, "x or output is missing");
  if (!kgen_is(x, KGEN_FLOAT32, x->rank) || !kgen_is(y, KGEN_FLOAT32, x->rank)) {
    return kgen_fail(&args->error, "x and output must be contiguous float32");
  }
  return 0;
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_find(&args->inputs, "x");
  const auto count = static_cast<std::int64_t>(input->element_count);
  const float* __restrict x = static_cast<const float*>(input->data);
  float* __restrict y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
#pragma omp parallel for simd schedule(static) num_threads(args->threads)
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] < 0.0f ? 0.0f : x[i];
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
