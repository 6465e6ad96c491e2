// expect: resource.shared_memory
// tools: nvcc
#include <cuda_fp16.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

template <int BM, int BN, int BK, int STAGES>
__global__ void __launch_bounds__(256) hgemm_pipelined(const half* A, const half* B, float* C, int M, int N, int K) {
  __shared__ __align__(128) half smem_a[STAGES][BM * BK];
  __shared__ __align__(128) half smem_b[STAGES][BK * BN];
  int tid = threadIdx.x;
  float acc = 0.f;
  for (int k0 = 0, s = 0; k0 < K; k0 += BK, s = (s + 1) % STAGES) {
    for (int i = tid; i < BM * BK; i += 256) smem_a[s][i] = A[(blockIdx.y * BM + i / BK) * K + k0 + i % BK];
    for (int i = tid; i < BK * BN; i += 256) smem_b[s][i] = B[(k0 + i / BN) * N + blockIdx.x * BN + i % BN];
    __syncthreads();
    for (int k = 0; k < BK; ++k) acc += __half2float(smem_a[s][(tid % BM) * BK + k]) * __half2float(smem_b[s][k * BN + tid % BN]);
  }
  C[(blockIdx.y * BM + tid % BM) * N + blockIdx.x * BN + tid % BN] = acc;
}


KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* a = kgen_at(&args->inputs, 0);
  const kgen_tensor* b = kgen_at(&args->inputs, 1);
  int M = a->shape[0], K = a->shape[1], N = b->shape[1];
  hgemm_pipelined<256, 128, 64, 5><<<dim3(N / 128, M / 256), 256, 0, (cudaStream_t)args->stream>>>(
      (const half*)a->data, (const half*)b->data, (float*)kgen_at(&args->outputs, 0)->data, M, N, K);
  return 0;
}
