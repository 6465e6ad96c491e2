#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

template <int H, int CLUSTER>
__global__ void __cluster_dims__(CLUSTER, 1, 1) __launch_bounds__(H / CLUSTER * 4)
lstm_cluster(const __half* __restrict__ xg, const __half* __restrict__ whh, __half* __restrict__ y, int T, int B) {
  constexpr int UNITS = H / CLUSTER;
  __shared__ __half h_sm[2][H];
  __shared__ float gates[4 * UNITS];
  cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  const int batch = blockIdx.x / CLUSTER;
  const int tid = threadIdx.x;
  const int gate = tid / UNITS;
  const int unit = tid - gate * UNITS;
  const int row = gate * H + rank * UNITS + unit;

  if (tid < UNITS)
    for (unsigned r = 0; r < CLUSTER; ++r) cluster.map_shared_rank(&h_sm[0][0], r)[rank * UNITS + tid] = __float2half(0.f);
  float c = 0.f;
  cluster.sync();

  int phase = 0;
#pragma unroll 1
  for (int t = 0; t < T; ++t, phase ^= 1) {
    const __half2* w2 = reinterpret_cast<const __half2*>(whh + (size_t)row * H);
    const __half2* h2 = reinterpret_cast<const __half2*>(h_sm[phase]);
    float acc = __half2float(xg[((size_t)t * B + batch) * 4 * H + row]);
    for (int k = 0; k < H / 2; ++k) {
      const float2 a = __half22float2(w2[k]);
      const float2 b = __half22float2(h2[k]);
      acc += a.x * b.x + a.y * b.y;
    }
    gates[tid] = acc;
    __syncthreads();
    if (tid < UNITS) {
      const float i = 1.f / (1.f + __expf(-gates[tid]));
      const float f = 1.f / (1.f + __expf(-gates[UNITS + tid]));
      const float g = tanhf(gates[2 * UNITS + tid]);
      const float o = 1.f / (1.f + __expf(-gates[3 * UNITS + tid]));
      c = f * c + i * g;
      const __half hn = __float2half(o * tanhf(c));
      y[((size_t)t * B + batch) * H + rank * UNITS + tid] = hn;
      // broadcast to every block of the cluster
#pragma unroll
      for (int r = 0; r < CLUSTER; ++r) {
        __half* remote = cluster.map_shared_rank(h_sm[phase ^ 1], r);
        remote[rank * UNITS + tid] = hn;
      }
    }
    cluster.sync();
  }
}

extern "C" void lstm_fwd(const __half* xg, const __half* whh, __half* y, int T, int B, cudaStream_t s) {
  lstm_cluster<512, 8><<<B * 8, 256, 0, s>>>(xg, whh, y, T, B);
}
