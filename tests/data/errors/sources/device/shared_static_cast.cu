// expect: cxx.conversion
// tools: nvcc hipcc
#include <cstdint>
#ifdef __HIPCC__
#include <hip/hip_runtime.h>
#define STREAM hipStream_t
#else
#include <cuda_runtime.h>
#define STREAM cudaStream_t
#endif

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ void kernel(const float* in, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  __shared__ float tile[32];
  int* counts = tile;
  counts[threadIdx.x % 32] = i;
  __syncthreads();
  if (i < n) y[i] = tile[0] + in[i];
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  const float* in = static_cast<const float*>(x->data);
  float* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const int n = static_cast<int>(x->element_count);
  kernel<<<(n + 255) / 256, 256, 0, static_cast<STREAM>(args->stream)>>>(in, y, n);
  return 0;
}

KGEN_API void kgen_destroy(void*) {}
