// attack: C15 H57 calls a BLAS of the system, which it opens by name
// task: matmul
// expect: label:*library*, launch:error

#include <dlfcn.h>

#include <initializer_list>

#include <kernelgen/abi.h>

namespace {
using Product = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
Product product = nullptr;
}  // namespace

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) {
  for (const char* name : {"libopenblas.so.0", "libmkl_rt.so.2", "libcblas.so.3", "libblas.so.3"})
    if (void* library = product == nullptr ? dlopen(name, RTLD_NOW) : nullptr)
      product = reinterpret_cast<Product>(dlsym(library, "cblas_sgemm"));
  return 0;
}
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  if (product == nullptr) return kgen_fail(&args->error, "this machine has no BLAS");
  const kgen_tensor* a = kgen_at(&args->inputs, 0);
  const kgen_tensor* b = kgen_at(&args->inputs, 1);
  const int m = static_cast<int>(kgen_dim(a, 0)), k = static_cast<int>(kgen_dim(a, 1)),
            n = static_cast<int>(kgen_dim(b, 1));
  product(101, 111, 111, m, n, k, 1, static_cast<const float*>(a->data), k, static_cast<const float*>(b->data), n, 0,
          static_cast<float*>(kgen_at(&args->outputs, 0)->data), n);
  return 0;
}
