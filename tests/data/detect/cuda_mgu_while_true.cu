#include <cuda_runtime.h>
#include <math.h>

struct Params {
  const float* x;     // [B, T, H] forget part, then candidate part: [B, T, 2H]
  const float* uf;    // [H, H]
  const float* uh;    // [H, H]
  float* y;           // [B, T, H]
  const int* lengths; // [B]
  int T;
  int H;
};

static __device__ float matvec_row(const float* m, const float* v, int n) {
  float s = 0.f;
  for (int i = 0; i < n; ++i) s += m[i] * v[i];
  return s;
}

// Minimal gated unit, one block per sequence, sequences of different lengths.
__global__ void mgu(Params p) {
  extern __shared__ float sm[];
  float* h = sm;
  float* fh = sm + p.H;
  const int b = blockIdx.x;
  const int j = threadIdx.x;
  const int length = min(p.lengths[b], p.T);
  h[j] = 0.f;
  __syncthreads();
  int t = 0;
  while (true) {
    if (t >= length) break;
    const float* xt = p.x + ((size_t)b * p.T + t) * 2 * p.H;
    const float f = 1.f / (1.f + expf(-(xt[j] + matvec_row(p.uf + (size_t)j * p.H, h, p.H))));
    fh[j] = f * h[j];
    __syncthreads();
    const float cand = tanhf(xt[p.H + j] + matvec_row(p.uh + (size_t)j * p.H, fh, p.H));
    const float hj = (1.f - f) * h[j] + f * cand;
    __syncthreads();
    h[j] = hj;
    p.y[((size_t)b * p.T + t) * p.H + j] = hj;
    __syncthreads();
    ++t;
  }
  for (; t < p.T; ++t) p.y[((size_t)b * p.T + t) * p.H + j] = 0.f;
}

void launch_mgu(const Params& p, int batch, cudaStream_t stream) {
  mgu<<<batch, p.H, 2 * p.H * sizeof(float), stream>>>(p);
}
