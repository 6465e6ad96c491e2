#include <cuda_runtime.h>

// Inclusive prefix sums of rows that fit into one block, by recursion over the levels of a tree.
template <int OFFSET>
struct WarpScan {
  static __device__ __forceinline__ float run(float v, int lane) {
    v = WarpScan<OFFSET / 2>::run(v, lane);
    const float up = __shfl_up_sync(0xffffffffu, v, OFFSET);
    return lane >= OFFSET ? v + up : v;
  }
};

template <>
struct WarpScan<0> {
  static __device__ __forceinline__ float run(float v, int) { return v; }
};

template <int WARPS>
__device__ float block_scan(float v, float* totals) {
  const int lane = threadIdx.x & 31;
  const int warp = threadIdx.x >> 5;
  v = WarpScan<16>::run(v, lane);
  if (lane == 31) totals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    float t = lane < WARPS ? totals[lane] : 0.f;
    t = WarpScan<16>::run(t, lane);
    if (lane < WARPS) totals[lane] = t;
  }
  __syncthreads();
  return warp > 0 ? v + totals[warp - 1] : v;
}

template <int THREADS>
__global__ void cumsum_rows(const float* __restrict__ in, float* __restrict__ out, int cols) {
  __shared__ float totals[THREADS / 32];
  const int row = blockIdx.x;
  const float v = threadIdx.x < cols ? in[(size_t)row * cols + threadIdx.x] : 0.f;
  const float s = block_scan<THREADS / 32>(v, totals);
  if (threadIdx.x < cols) out[(size_t)row * cols + threadIdx.x] = s;
}

void cumsum(const float* in, float* out, int rows, int cols, cudaStream_t stream) {
  cumsum_rows<1024><<<rows, 1024, 0, stream>>>(in, out, cols);
}
