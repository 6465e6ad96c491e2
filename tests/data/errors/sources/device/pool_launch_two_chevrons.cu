// expect: device.launch_syntax
// tools: nvcc
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void maxpool2x2(const float* in, float* out, int h, int w) {
  int ox = blockIdx.x * blockDim.x + threadIdx.x;
  int oy = blockIdx.y * blockDim.y + threadIdx.y;
  if (ox >= w / 2 || oy >= h / 2) return;
  const float* p = in + (size_t)blockIdx.z * h * w + 2 * oy * w + 2 * ox;
  out[(size_t)blockIdx.z * (h / 2) * (w / 2) + oy * (w / 2) + ox] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[w], p[w + 1]));
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
  int n = (int)x->shape[0], c = (int)x->shape[1], h = (int)x->shape[2], w = (int)x->shape[3];
  dim3 block(16, 16);
  dim3 grid((w / 2 + 15) / 16, (h / 2 + 15) / 16, n * c);
  maxpool2x2<<grid, block, 0, (cudaStream_t)args->stream>>((const float*)x->data, (float*)y->data, h, w);
  return 0;
}
