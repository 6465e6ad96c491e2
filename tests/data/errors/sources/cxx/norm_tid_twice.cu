// expect: cxx.redefinition
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void l2_normalize(const float* x, float* y, int cols) {
  __shared__ float red[256];
  int tid = threadIdx.x;
  float ss = 0.f;
  for (int i = tid; i < cols; i += blockDim.x) ss += x[blockIdx.x * cols + i] * x[blockIdx.x * cols + i];
  red[tid] = ss;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) { if (tid < s) red[tid] += red[tid + s]; __syncthreads(); }
  // second pass
  int tid = threadIdx.x;
  float inv = rsqrtf(red[0] + 1e-12f);
  for (int i = tid; i < cols; i += blockDim.x) y[blockIdx.x * cols + i] = x[blockIdx.x * cols + i] * inv;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
