// expect: cxx.redefinition
// tools: nvcc
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

template <typename T>
__global__ void row_sum(const T* x, T* y, int cols) {
  extern __shared__ T smem[];
  T v = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) v += x[blockIdx.x * cols + i];
  smem[threadIdx.x] = v;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) smem[threadIdx.x] += smem[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = smem[0];
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
  const kgen_tensor* y = kgen_at(&args->outputs, 0);
  cudaStream_t stream = (cudaStream_t)args->stream;
  int rows = (int)x->shape[0], cols = (int)x->shape[1];
  if (x->dtype == KGEN_FLOAT64)
    row_sum<double><<<rows, 256, 256 * 8, stream>>>((const double*)x->data, (double*)y->data, cols);
  else
    row_sum<float><<<rows, 256, 256 * 4, stream>>>((const float*)x->data, (float*)y->data, cols);
  return 0;
}
