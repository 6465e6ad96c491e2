#include <hip/hip_runtime.h>
#include <cfloat>

struct MaxSum {
  float m;
  float s;
};

__device__ __forceinline__ MaxSum merge(MaxSum a, MaxSum b) {
  const bool bigger = a.m > b.m;
  const MaxSum hi = bigger ? a : b;
  const MaxSum lo = bigger ? b : a;
  return {hi.m, hi.s + lo.s * __expf(lo.m - hi.m)};
}

template <int BLOCK>
__global__ void softmax_rows(const float* __restrict__ x, float* __restrict__ y, int cols) {
  constexpr int kWaves = BLOCK / 64;
  __shared__ MaxSum partial[kWaves];
  const float* row = x + static_cast<size_t>(blockIdx.x) * cols;
  float* dst = y + static_cast<size_t>(blockIdx.x) * cols;
  MaxSum mine{-FLT_MAX, 0.f};
  for (int c = threadIdx.x; c < cols; c += BLOCK) mine = merge(mine, MaxSum{row[c], 1.f});
  for (int off = 32; off > 0; off /= 2) {
    MaxSum other;
    other.m = __shfl_xor(mine.m, off);
    other.s = __shfl_xor(mine.s, off);
    mine = merge(mine, other);
  }
  if (threadIdx.x % 64 == 0) partial[threadIdx.x / 64] = mine;
  __syncthreads();
  MaxSum total = partial[0];
  for (int w = 1; w < kWaves; ++w) total = merge(total, partial[w]);
  const float inv = 1.f / total.s;
  for (int c = threadIdx.x; c < cols; c += BLOCK) dst[c] = __expf(row[c] - total.m) * inv;
}

extern "C" int softmax(const float* x, float* y, int rows, int cols, hipStream_t stream) {
  softmax_rows<512><<<rows, 512, 0, stream>>>(x, y, cols);
  return hipGetLastError();
}
