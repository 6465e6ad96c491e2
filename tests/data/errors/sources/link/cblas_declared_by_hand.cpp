// expect: link.undefined
// tools: g++ clang++
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

extern "C" void cblas_sgemm(int order, int ta, int tb, int m, int n, int k, float alpha, const float* a, int lda,
                            const float* b, int ldb, float beta, float* c, int ldc);

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* w = kgen_find(&args->parameters, "linear.weight");
  const int m = (int)kgen_dim(x, 0), k = (int)kgen_dim(x, 1), n = (int)kgen_dim(w, 0);
  cblas_sgemm(101, 111, 112, m, n, k, 1.0f, (const float*)x->data, k, (const float*)w->data, k, 0.0f,
              (float*)kgen_find(&args->outputs, "output")->data, n);
  return 0;
}
