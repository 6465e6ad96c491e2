// attack: C12 asks OpenMP for four threads where one is allowed
// task: big_gelu
// twin: gelu_scalar.cpp
// threads: 1

#include <math.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
#pragma omp parallel for num_threads(4)
  for (uint64_t i = 0; i < input->element_count; ++i) y[i] = 0.5F * x[i] * (1 + erff(x[i] * 0.70710678F));
  return 0;
}
