#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const float* x = static_cast<const float*>(kgen_find(&args->inputs, "x")->data);
  float* y = static_cast<float*>(kgen_find(&args->outputs, "output")->data);
#pragma omp parallel for
  for (long i = 0; i < 1 << 20; ++i) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
