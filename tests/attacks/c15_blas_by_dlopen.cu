// attack: C15 H57 a native candidate that opens cuBLAS by name
// task: matmul
// expect: label:*library*, launch:error

#include <cuda_runtime.h>
#include <dlfcn.h>

#include <initializer_list>

#include <kernelgen/abi.h>

namespace {
using Create = int (*)(void**);
using SetStream = int (*)(void*, cudaStream_t);
using Product = int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                        const float*, float*, int);
void* handle = nullptr;
SetStream set_stream = nullptr;
Product product = nullptr;
}  // namespace

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) {
  if (handle != nullptr) return 0;
  for (const char* name : {"libcublas.so.13", "libcublas.so.12", "/usr/local/cuda/lib64/libcublas.so"})
    if (void* library = handle == nullptr ? dlopen(name, RTLD_NOW) : nullptr) {
      reinterpret_cast<Create>(dlsym(library, "cublasCreate_v2"))(&handle);
      set_stream = reinterpret_cast<SetStream>(dlsym(library, "cublasSetStream_v2"));
      product = reinterpret_cast<Product>(dlsym(library, "cublasSgemm_v2"));
    }
  return 0;
}
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  if (handle == nullptr) return kgen_fail(&args->error, "this machine has no cuBLAS");
  const kgen_tensor* a = kgen_at(&args->inputs, 0);
  const kgen_tensor* b = kgen_at(&args->inputs, 1);
  const int m = static_cast<int>(kgen_dim(a, 0)), k = static_cast<int>(kgen_dim(a, 1)),
            n = static_cast<int>(kgen_dim(b, 1));
  const float one = 1, zero = 0;
  set_stream(handle, static_cast<cudaStream_t>(args->stream));
  return product(handle, 0, 0, n, m, k, &one, static_cast<const float*>(b->data), n, static_cast<const float*>(a->data),
                 k, &zero, static_cast<float*>(kgen_at(&args->outputs, 0)->data), n);
}
