// expect: device.kernel_signature
// tools: nvcc hipcc
#ifdef __HIPCC__
#include <hip/hip_runtime.h>
typedef hipStream_t stream_t;
#else
#include <cuda_runtime.h>
typedef cudaStream_t stream_t;
#endif
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ int cumsum_kernel(const float* x, float* y, int rows, int cols) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return 0;
  float acc = 0.0f;
  for (int c = 0; c < cols; ++c) {
    acc += x[r * cols + c];
    y[r * cols + c] = acc;
  }
  return 0;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_find(&args->inputs, "x");
  const kgen_tensor* y = kgen_find(&args->outputs, "output");
  int rows = (int)x->shape[0], cols = (int)x->shape[1];
  cumsum_kernel<<<(rows + 127) / 128, 128, 0, (stream_t)args->stream>>>((float*)x->data, (float*)y->data, rows, cols);
  return 0;
}
