// expect: cxx.template
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define STREAM hipStream_t
#else
#include <cuda_runtime.h>
#define STREAM cudaStream_t
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

template <typename T, int BLOCK>
__global__ void argmin_rows(const T* x, int64_t* y, int cols) {
  __shared__ T best[BLOCK];
  __shared__ int where[BLOCK];
  const T* row = x + (size_t)blockIdx.x * cols;
  T b = row[0];
  int w = 0;
  for (int i = threadIdx.x; i < cols; i += BLOCK) if (row[i] < b) { b = row[i]; w = i; }
  best[threadIdx.x] = b;
  where[threadIdx.x] = w;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < BLOCK; ++i) if (best[i] < b) { b = best[i]; w = where[i]; }
    y[blockIdx.x] = w;
  }
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  int rows = (int)kgen_dim(x, 0), cols = (int)kgen_dim(x, 1);
  argmin_rows<<<rows, 256, 0, (STREAM)args->stream>>>((const float*)x->data, (int64_t*)kgen_at(&args->outputs, 0)->data, cols);
  return 0;
}
