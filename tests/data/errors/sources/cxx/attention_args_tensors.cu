// expect: cxx.no_member
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#define STREAM(s) ((hipStream_t)(s))
#else
#include <cuda_runtime.h>
#define STREAM(s) ((cudaStream_t)(s))
#endif
#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

__global__ void scale_qk(const float* q, const float* k, float* s, int n, int d, float scale) {
  int i = blockIdx.x, j = threadIdx.x;
  for (; j < n; j += blockDim.x) {
    float dot = 0.f;
    for (int c = 0; c < d; ++c) dot += q[i * d + c] * k[j * d + c];
    s[i * n + j] = dot * scale;
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
  const float* q = (const float*)args->tensors[0].data;
  const kgen_tensor* k = kgen_find(&args->inputs, "k");
  const kgen_tensor* out = kgen_find(&args->outputs, "output");
  int n = (int)kgen_dim(k, 0), d = (int)kgen_dim(k, 1);
  scale_qk<<<n, 128, 0, STREAM(args->stream)>>>(q, (const float*)k->data, (float*)out->data, n, d, 1.0f / sqrtf((float)d));
  return 0;
}
