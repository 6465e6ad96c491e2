// expect: cxx.openmp
// tools: g++
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* t = kgen_at(&args->inputs, 0);
  const float* x = (const float*)t->data;
  float* y = (float*)kgen_at(&args->outputs, 0)->data;
  const int64_t rows = kgen_dim(t, 0), cols = kgen_dim(t, 1);
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t r = 0; r < rows; ++r) {
    int64_t arg = 0;
    for (int64_t c = 1; c < cols; ++c) if (x[r * cols + c] > x[r * cols + arg]) arg = c;
    if (cols == 0) break;
    y[r] = x[r * cols + arg];
  }
  return 0;
}
