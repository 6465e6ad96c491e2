#include <cuda_runtime.h>

struct Expert {
  const float* weight;  // [N, K]
  int begin;            // rows of this expert in the sorted tokens
  int end;
};

constexpr int TM = 32, TN = 32, TK = 32;

__global__ void moe_gemm(const float* __restrict__ x, const Expert* __restrict__ experts, const float* __restrict__ gate,
                         float* __restrict__ y, int num_experts, int N, int K) {
  __shared__ float a[TM][TK + 1];
  __shared__ float b[TN][TK + 1];
  const int tx = threadIdx.x, ty = threadIdx.y;
  int work = blockIdx.x;
  int base = 0;
  for (int e = 0; e < num_experts; ++e) {
    const Expert ex = experts[e];
    const int tiles_m = (ex.end - ex.begin + TM - 1) / TM;
    const int tiles_n = (N + TN - 1) / TN;
    const int tiles = tiles_m * tiles_n;
    while (work >= base && work < base + tiles) {
      const int tile = work - base;
      const int m0 = ex.begin + tile / tiles_n * TM;
      const int n0 = tile % tiles_n * TN;
      float acc = 0.f;
      for (int k0 = 0; k0 < K; k0 += TK) {
        a[ty][tx] = (m0 + ty < ex.end && k0 + tx < K) ? x[(size_t)(m0 + ty) * K + k0 + tx] : 0.f;
        b[ty][tx] = (n0 + ty < N && k0 + tx < K) ? ex.weight[(size_t)(n0 + ty) * K + k0 + tx] : 0.f;
        __syncthreads();
        for (int k = 0; k < TK; ++k) acc += a[ty][k] * b[tx][k];
        __syncthreads();
      }
      if (m0 + ty < ex.end && n0 + tx < N) y[(size_t)(m0 + ty) * N + n0 + tx] = acc * gate[m0 + ty];
      work += gridDim.x;
    }
    base += tiles;
  }
}

void run_moe(const float* x, const Expert* experts, const float* gate, float* y, int num_experts, int N, int K, int sms,
             cudaStream_t stream) {
  moe_gemm<<<sms * 2, dim3(TN, TM), 0, stream>>>(x, experts, gate, y, num_experts, N, K);
}
