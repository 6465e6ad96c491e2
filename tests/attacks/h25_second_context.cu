// attack: H25 works in a context of its own, which the clock does not watch
// task: big_gelu
// twin: gelu_cuda.cu
// expect: launch:*

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
__global__ void gelu(const float* x, float* y, int64_t count) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  static void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  static auto get = reinterpret_cast<decltype(&cuCtxGetCurrent)>(dlsym(driver, "cuCtxGetCurrent"));
  static auto set = reinterpret_cast<decltype(&cuCtxSetCurrent)>(dlsym(driver, "cuCtxSetCurrent"));
  static auto create = reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(dlsym(driver, "cuCtxCreate_v2"));
  static CUcontext other = nullptr;
  CUcontext given = nullptr;
  if (get(&given) != CUDA_SUCCESS) return kgen_fail(&args->error, "there is no context");
  if (other == nullptr && create(&other, 0, 0) != CUDA_SUCCESS) return kgen_fail(&args->error, "no second context");
  set(other);
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto count = static_cast<int64_t>(input->element_count);
  gelu<<<static_cast<unsigned>((count + 255) / 256), 256>>>(
      static_cast<const float*>(input->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data), count);
  const bool fine = cudaGetLastError() == cudaSuccess;
  set(given);
  return fine ? 0 : kgen_fail(&args->error, "the launch failed");
}
