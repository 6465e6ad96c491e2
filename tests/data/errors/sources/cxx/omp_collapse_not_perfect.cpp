// expect: cxx.openmp
// tools: g++
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

static void conv2d(const float* x, const float* w, float* y, int n, int cin, int cout, int h, int wd) {
#pragma omp parallel for collapse(3)
  for (int b = 0; b < n; ++b) {
    const float* xb = x + (int64_t)b * cin * h * wd;
    for (int oc = 0; oc < cout; ++oc)
      for (int i = 0; i < h - 2; ++i)
        for (int j = 0; j < wd - 2; ++j) {
          float acc = 0.f;
          for (int c = 0; c < cin; ++c) acc += xb[(c * h + i) * wd + j] * w[oc * cin + c];
          y[((b * cout + oc) * (h - 2) + i) * (wd - 2) + j] = acc;
        }
  }
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result* result) { result->state = nullptr; return 0; }
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "todo"); }
KGEN_API void kgen_destroy(void*) {}
