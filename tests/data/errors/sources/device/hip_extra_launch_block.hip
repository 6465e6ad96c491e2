// expect: device.launch_syntax
// tools: hipcc
#include <hip/hip_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void transpose(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[32][33];
  int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
  if (c < cols && r < rows) tile[threadIdx.y][threadIdx.x] = x[r * cols + c];
  __syncthreads();
  int tc = blockIdx.y * 32 + threadIdx.x, tr = blockIdx.x * 32 + threadIdx.y;
  if (tc < rows && tr < cols) y[tr * rows + tc] = tile[threadIdx.x][threadIdx.y];
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
  int rows = (int)x->shape[0], cols = (int)x->shape[1];
  dim3 block(32, 32), grid((cols + 31) / 32, (rows + 31) / 32);
  transpose<<<grid, block, 0, (hipStream_t)args->stream, 0>>>((const float*)x->data, (float*)kgen_at(&args->outputs, 0)->data, rows, cols);
  return 0;
}
