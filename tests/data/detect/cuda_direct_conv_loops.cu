#include <cuda_runtime.h>

// Direct 3-D convolution, stride 1, with bias, GroupNorm statistics gathered on the way.
template <int KT, int KH, int KW>
__global__ void conv3d_direct(const float* __restrict__ in, const float* __restrict__ w, const float* __restrict__ bias,
                              float* __restrict__ out, float* __restrict__ sums, int C, int D, int H, int W, int F) {
  const int ow = blockIdx.x * blockDim.x + threadIdx.x;
  const int oh = blockIdx.y * blockDim.y + threadIdx.y;
  const int nf = blockIdx.z;
  const int n = nf / F, f = nf % F;
  const int OW = W - KW + 1, OH = H - KH + 1, OD = D - KT + 1;
  float s1 = 0.f, s2 = 0.f;
  if (ow < OW && oh < OH) {
    for (int od = 0; od < OD; ++od) {
      float acc = bias[f];
      for (int c = 0; c < C; ++c) {
        const float* src = in + (((size_t)n * C + c) * D + od) * H * W;
        const float* ker = w + ((size_t)f * C + c) * KT * KH * KW;
        for (int t = 0; t < KT; ++t)
          for (int y = 0; y < KH; ++y)
            for (int x = 0; x < KW; ++x)
              acc += src[((size_t)t * H + oh + y) * W + ow + x] * ker[(t * KH + y) * KW + x];
      }
      acc = acc > 0.f ? acc : 0.01f * acc;
      out[((((size_t)n * F + f) * OD + od) * OH + oh) * OW + ow] = acc;
      s1 += acc;
      s2 += acc * acc;
    }
  }
  for (int off = 16; off; off >>= 1) {
    s1 += __shfl_down_sync(~0u, s1, off);
    s2 += __shfl_down_sync(~0u, s2, off);
  }
  if (((threadIdx.y * blockDim.x + threadIdx.x) & 31) == 0) {
    atomicAdd(sums + 2 * nf, s1);
    atomicAdd(sums + 2 * nf + 1, s2);
  }
}

void conv(const float* in, const float* w, const float* bias, float* out, float* sums, int N, int C, int D, int H, int W,
          int F, cudaStream_t stream) {
  const dim3 block(32, 4);
  const dim3 grid((W - 2 + 31) / 32, (H - 2 + 3) / 4, N * F);
  conv3d_direct<3, 3, 3><<<grid, block, 0, stream>>>(in, w, bias, out, sums, C, D, H, W, F);
}
