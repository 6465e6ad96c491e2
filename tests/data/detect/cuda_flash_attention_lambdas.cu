#include <cuda_runtime.h>
#include <float.h>

template <int D, int BC>
__global__ void flash_rows(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                           float* __restrict__ O, float* __restrict__ L, int n, float scale, bool causal) {
  __shared__ float Ks[BC][D + 1];
  __shared__ float Vs[BC][D + 1];
  const size_t head = (size_t)blockIdx.y * n * D;
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float q[D], o[D];
  for (int d = 0; d < D; ++d) {
    q[d] = row < n ? Q[head + (size_t)row * D + d] * scale : 0.f;
    o[d] = 0.f;
  }
  float m = -FLT_MAX, l = 0.f;

  auto load_tile = [&](int start) {
    for (int i = threadIdx.x; i < BC * D; i += blockDim.x) {
      const int r = i / D, c = i % D;
      const bool in = start + r < n;
      Ks[r][c] = in ? K[head + (size_t)(start + r) * D + c] : 0.f;
      Vs[r][c] = in ? V[head + (size_t)(start + r) * D + c] : 0.f;
    }
  };
  auto score = [&](int c) {
    float s = 0.f;
#pragma unroll
    for (int d = 0; d < D; ++d) s += q[d] * Ks[c][d];
    return s;
  };

  const int limit = causal ? min(n, (int)((blockIdx.x + 1) * blockDim.x)) : n;
  for (int start = 0; start < limit; start += BC) {
    load_tile(start);
    __syncthreads();
    float p[BC];
    float top = m;
    for (int c = 0; c < BC; ++c) {
      const bool visible = start + c < n && (!causal || start + c <= row);
      p[c] = visible ? score(c) : -FLT_MAX;
      top = fmaxf(top, p[c]);
    }
    const float correction = __expf(m - top);
    float sum = 0.f;
    for (int c = 0; c < BC; ++c) {
      p[c] = __expf(p[c] - top);
      sum += p[c];
    }
    l = l * correction + sum;
    for (int d = 0; d < D; ++d) {
      float v = 0.f;
      for (int c = 0; c < BC; ++c) v += p[c] * Vs[c][d];
      o[d] = o[d] * correction + v;
    }
    m = top;
    __syncthreads();
  }
  if (row < n) {
    for (int d = 0; d < D; ++d) O[head + (size_t)row * D + d] = o[d] / l;
    L[(size_t)blockIdx.y * n + row] = m + logf(l);
  }
}

void attention(const float* q, const float* k, const float* v, float* o, float* lse, int heads, int n,
               cudaStream_t stream) {
  flash_rows<64, 32><<<dim3((n + 127) / 128, heads), 128, 0, stream>>>(q, k, v, o, lse, n, 0.125f, true);
}
