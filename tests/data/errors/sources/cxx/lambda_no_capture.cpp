// expect: cxx.other
// tools: g++ clang++
#include <algorithm>
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
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const float* p = (const float*)x->data;
  float* y = (float*)kgen_at(&args->outputs, 0)->data;
  const int64_t cols = kgen_dim(x, -1);
  auto row_max = [](int64_t r) { return *std::max_element(p + r * cols, p + (r + 1) * cols); };
  for (int64_t r = 0; r < (int64_t)x->element_count / cols; ++r) y[r] = row_max(r);
  return 0;
}
