#include <cooperative_groups.h>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

constexpr int WARPS_PER_BLOCK = 8;

__device__ __forceinline__ float warp_reduce_sum(float v) {
#pragma unroll
  for (int offset = 16; offset > 0; offset >>= 1) v += __shfl_xor_sync(0xffffffffu, v, offset);
  return v;
}

__device__ __forceinline__ float sigmoid_fast(float x) { return 1.0f / (1.0f + __expf(-x)); }

// One warp computes one hidden unit for all batch elements; every step ends with a grid-wide barrier.
// h_buf holds two copies: [2][B][H].
__global__ void __launch_bounds__(WARPS_PER_BLOCK * 32)
gru_persistent_kernel(const float* __restrict__ gates_x, const float* __restrict__ w_hh,
                      const float* __restrict__ b_hh, float* h_buf, float* __restrict__ out, int T, int B, int H) {
  cg::grid_group grid = cg::this_grid();
  const int lane = threadIdx.x & 31;
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) >> 5;
  const int num_warps = (gridDim.x * blockDim.x) >> 5;

  for (int t = 0; t < T; ++t) {
    const float* h_prev = h_buf + (t & 1) * B * H;
    float* h_next = h_buf + ((t + 1) & 1) * B * H;
    for (int j = warp; j < H; j += num_warps) {
      const float* wr = w_hh + (size_t)j * H;
      const float* wz = w_hh + (size_t)(H + j) * H;
      const float* wn = w_hh + (size_t)(2 * H + j) * H;
      for (int b = 0; b < B; ++b) {
        float sr = 0.f, sz = 0.f, sn = 0.f;
        for (int k = lane; k < H; k += 32) {
          const float hv = h_prev[b * H + k];
          sr += wr[k] * hv;
          sz += wz[k] * hv;
          sn += wn[k] * hv;
        }
        sr = warp_reduce_sum(sr);
        sz = warp_reduce_sum(sz);
        sn = warp_reduce_sum(sn);
        if (lane == 0) {
          const float* gx = gates_x + ((size_t)t * B + b) * 3 * H;
          const float r = sigmoid_fast(gx[j] + sr + b_hh[j]);
          const float z = sigmoid_fast(gx[H + j] + sz + b_hh[H + j]);
          const float n = tanhf(gx[2 * H + j] + r * (sn + b_hh[2 * H + j]));
          const float h = (1.f - z) * n + z * h_prev[b * H + j];
          h_next[b * H + j] = h;
          out[((size_t)t * B + b) * H + j] = h;
        }
      }
    }
    grid.sync();
  }
}

extern "C" int launch_gru(const float* gates_x, const float* w_hh, const float* b_hh, float* h_buf, float* out, int T,
                          int B, int H, cudaStream_t stream) {
  int device = 0, sms = 0, per_sm = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, gru_persistent_kernel, WARPS_PER_BLOCK * 32, 0);
  int blocks = sms * per_sm;
  const int needed = (H + WARPS_PER_BLOCK - 1) / WARPS_PER_BLOCK;
  if (blocks > needed) blocks = needed;
  void* args[] = {(void*)&gates_x, (void*)&w_hh, (void*)&b_hh, (void*)&h_buf, (void*)&out, (void*)&T, (void*)&B, (void*)&H};
  return cudaLaunchCooperativeKernel((void*)gru_persistent_kernel, dim3(blocks), dim3(WARPS_PER_BLOCK * 32), args, 0,
                                     stream) == cudaSuccess ? 0 : 1;
}
