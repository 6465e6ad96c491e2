#include <cooperative_groups.h>
#include <cuda_runtime.h>
namespace cg = cooperative_groups;

constexpr int kUnits = 32;
constexpr int kBlocks = 8;

__global__ void __cluster_dims__(8, 1, 1) __launch_bounds__(256, 1)
    gru_cluster(const float* __restrict__ gates, const float* __restrict__ w, float* __restrict__ out, int T) {
  auto cluster = cg::this_cluster();
  __shared__ float h[2][kUnits * kBlocks];
  const int rank = cluster.block_rank();
  const int unit = threadIdx.x / 8;
  const int part = threadIdx.x % 8;
  float weights[32];
#pragma unroll
  for (int k = 0; k < 32; ++k) weights[k] = w[(rank * kUnits + unit) * kUnits * kBlocks + part * 32 + k];
  for (int i = threadIdx.x; i < kUnits * kBlocks; i += blockDim.x) h[0][i] = 0.f;
  cluster.sync();
  int phase = 0;
  for (int t = 0; t < T; ++t) {
    float sum = 0.f;
#pragma unroll
    for (int k = 0; k < 32; ++k) sum += weights[k] * h[phase][part * 32 + k];
    for (int offset = 4; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    const float value = tanhf(sum + gates[t * kUnits * kBlocks + rank * kUnits + unit]);
    if (part == 0) {
      for (int b = 0; b < kBlocks; ++b) {
        float* peer = cluster.map_shared_rank(&h[phase ^ 1][0], b);
        peer[rank * kUnits + unit] = value;
      }
      out[t * kUnits * kBlocks + rank * kUnits + unit] = value;
    }
    cluster.sync();
    phase ^= 1;
  }
}

extern "C" void launch(const float* gates, const float* w, float* out, int T, cudaStream_t stream) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(8);
  config.blockDim = dim3(256);
  config.stream = stream;
  cudaLaunchKernelEx(&config, gru_cluster, gates, w, out, T);
}
