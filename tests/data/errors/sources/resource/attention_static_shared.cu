// expect: resource.shared_memory
// tools: nvcc hipcc
#ifdef __HIP__
#include <hip/hip_runtime.h>
#endif
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

#define BR 128
#define BC 128
#define D 128

__global__ void flash_fwd(const float* Q, const float* K, const float* V, float* O, int n, float scale) {
  __shared__ float Qs[BR][D];
  __shared__ float Ks[BC][D];
  __shared__ float Vs[BC][D];
  __shared__ float S[BR][BC];
  int t = threadIdx.x;
  float acc[D];
  for (int d = 0; d < D; ++d) { Qs[t][d] = Q[(blockIdx.x * BR + t) * D + d]; acc[d] = 0.f; }
  float m = -1e30f, l = 0.f;
  for (int j = 0; j < n; j += BC) {
    for (int d = 0; d < D; ++d) { Ks[t][d] = K[(j + t) * D + d]; Vs[t][d] = V[(j + t) * D + d]; }
    __syncthreads();
    float mx = m;
    for (int c = 0; c < BC; ++c) {
      float s = 0.f;
      for (int d = 0; d < D; ++d) s += Qs[t][d] * Ks[c][d];
      S[t][c] = s * scale;
      mx = fmaxf(mx, S[t][c]);
    }
    float corr = __expf(m - mx);
    l *= corr;
    for (int d = 0; d < D; ++d) acc[d] *= corr;
    for (int c = 0; c < BC; ++c) {
      float p = __expf(S[t][c] - mx);
      l += p;
      for (int d = 0; d < D; ++d) acc[d] += p * Vs[c][d];
    }
    m = mx;
    __syncthreads();
  }
  for (int d = 0; d < D; ++d) O[(blockIdx.x * BR + t) * D + d] = acc[d] / l;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  if (args->device == KGEN_DEVICE_CPU) return kgen_fail(&args->error, "needs a GPU");
  result->state = nullptr;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args* args) { return kgen_fail(&args->error, "not wired up yet"); }
KGEN_API void kgen_destroy(void*) {}
