// Wrong: all threads of a row add to one number, and nothing keeps them apart.
#include <cuda_runtime.h>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ void row_sums(const float* x, float* y, int columns) {
  volatile float* sum = y + blockIdx.x;
  if (threadIdx.x == 0) *sum = 0.0f;
  __syncthreads();
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    *sum = *sum + x[static_cast<int64_t>(blockIdx.x) * columns + i];
}

KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  row_sums<<<static_cast<unsigned>(kgen_dim(x, 0)), 256, 0, static_cast<cudaStream_t>(args->stream)>>>(
      static_cast<const float*>(x->data), static_cast<float*>(kgen_at(&args->outputs, 0)->data),
      static_cast<int>(kgen_dim(x, 1)));
  return cudaGetLastError() == cudaSuccess ? 0 : kgen_fail(&args->error, "the launch failed");
}

KGEN_API void kgen_destroy(void*) {}
