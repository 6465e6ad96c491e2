#include <cuda_runtime.h>
#include <math_constants.h>

__device__ float log_add(float a, float b) {
  if (a == -CUDART_INF_F) return b;
  if (b == -CUDART_INF_F) return a;
  const float hi = a > b ? a : b;
  return hi + log1pf(expf(-fabsf(a - b)));
}

// Forward variables of CTC; one block per sample, one thread per position of the extended label sequence.
__global__ void ctc_forward(const float* __restrict__ log_probs, const int* __restrict__ labels,
                            const int* __restrict__ input_len, const int* __restrict__ label_len,
                            float* __restrict__ loss, int T, int B, int C, int max_labels, int blank) {
  extern __shared__ float shared[];
  const int b = blockIdx.x;
  const int s = threadIdx.x;
  const int S = 2 * label_len[b] + 1;
  const int steps = input_len[b];
  float* prev = shared;
  float* next = shared + blockDim.x;
  const int token = (s & 1) ? labels[b * max_labels + s / 2] : blank;
  const bool skip = s >= 2 && (s & 1) && token != labels[b * max_labels + s / 2 - 1];

  float start = -CUDART_INF_F;
  if (s < 2 && s < S) start = log_probs[(size_t)b * C + token];
  prev[s] = start;
  __syncthreads();

  for (int t = 1; t < steps; ++t) {
    float a = -CUDART_INF_F;
    if (s < S) {
      a = prev[s];
      if (s >= 1) a = log_add(a, prev[s - 1]);
      if (skip) a = log_add(a, prev[s - 2]);
      a += log_probs[((size_t)t * B + b) * C + token];
    }
    next[s] = a;
    __syncthreads();
    float* tmp = prev;
    prev = next;
    next = tmp;
  }
  if (s == 0) loss[b] = -log_add(prev[S - 1], S > 1 ? prev[S - 2] : -CUDART_INF_F);
}

void ctc(const float* lp, const int* labels, const int* il, const int* ll, float* loss, int T, int B, int C, int L,
         cudaStream_t stream) {
  const int threads = ((2 * L + 1) + 31) / 32 * 32;
  ctc_forward<<<B, threads, 2 * threads * sizeof(float), stream>>>(lp, labels, il, ll, loss, T, B, C, L, 0);
}
