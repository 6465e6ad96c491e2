#include <cuda_runtime.h>
#include <float.h>

// Most likely tag sequence of a linear-chain CRF. A block per sentence, a thread per tag.
__global__ void viterbi(const float* __restrict__ emissions, const float* __restrict__ transitions,
                        const float* __restrict__ start, const float* __restrict__ end, unsigned char* __restrict__ back,
                        int* __restrict__ path, int T, int K) {
  extern __shared__ float sm[];
  float* score = sm;
  float* next = sm + K;
  const int n = blockIdx.x;
  const int k = threadIdx.x;
  const float* em = emissions + (size_t)n * T * K;
  unsigned char* bp = back + (size_t)n * T * K;
  score[k] = start[k] + em[k];
  __syncthreads();
  for (int t = 1; t < T; ++t) {
    float best = -FLT_MAX;
    int arg = 0;
    for (int p = 0; p < K; ++p) {
      const float s = score[p] + transitions[p * K + k];
      if (s > best) {
        best = s;
        arg = p;
      }
    }
    next[k] = best + em[t * K + k];
    bp[t * K + k] = (unsigned char)arg;
    __syncthreads();
    score[k] = next[k];
    __syncthreads();
  }
  if (k == 0) {
    int tag = 0;
    float top = -FLT_MAX;
    for (int p = 0; p < K; ++p)
      if (score[p] + end[p] > top) {
        top = score[p] + end[p];
        tag = p;
      }
    for (int t = T - 1; t >= 0; --t) {
      path[(size_t)n * T + t] = tag;
      tag = bp[t * K + tag];
    }
  }
}

extern "C" void decode(const float* em, const float* tr, const float* st, const float* en, unsigned char* back, int* path,
                       int N, int T, int K, cudaStream_t stream) {
  viterbi<<<N, K, 2 * K * sizeof(float), stream>>>(em, tr, st, en, back, path, T, K);
}
