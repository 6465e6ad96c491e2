// expect: cxx.constant
// tools: nvcc
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

__global__ void attn_row(const float* q, const float* k, const float* v, float* o, int n, int head_dim) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float acc[head_dim];
  float l = 0.f;
  for (int d = 0; d < head_dim; ++d) acc[d] = 0.f;
  for (int j = 0; j < n; ++j) {
    float s = 0.f;
    for (int d = 0; d < head_dim; ++d) s += q[i * head_dim + d] * k[j * head_dim + d];
    float p = __expf(s);
    l += p;
    for (int d = 0; d < head_dim; ++d) acc[d] += p * v[j * head_dim + d];
  }
  for (int d = 0; d < head_dim; ++d) o[i * head_dim + d] = acc[d] / l;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
