#include <cuda_runtime.h>

#define SIGM(v) (1.0f / (1.0f + __expf(-(v))))
#define GATE(NAME, IDX)                                              \
  float NAME = xg[base + (IDX) * H + j];                             \
  for (int k = 0; k < H; ++k) NAME = fmaf(wt[(k * 4 + (IDX)) * H + j], hs[k], NAME);

#define LSTM_STEP(TT)                                                \
  do {                                                               \
    const size_t base = ((size_t)(TT) * B + b) * 4 * H;              \
    GATE(gi, 0)                                                      \
    GATE(gf, 1)                                                      \
    GATE(gg, 2)                                                      \
    GATE(go, 3)                                                      \
    c = SIGM(gf) * c + SIGM(gi) * tanhf(gg);                         \
    const float hn = SIGM(go) * tanhf(c);                            \
    __syncthreads();                                                 \
    hs[j] = hn;                                                      \
    y[((size_t)(TT) * B + b) * H + j] = hn;                          \
    __syncthreads();                                                 \
  } while (0)

#define UNROLL 4

template <int H>
__global__ void lstm_unrolled(const float* __restrict__ xg, const float* __restrict__ wt, float* __restrict__ y, int T,
                              int B) {
  __shared__ float hs[H];
  const int b = blockIdx.x;
  const int j = threadIdx.x;
  float c = 0.0f;
  hs[j] = 0.0f;
  __syncthreads();
  int t = 0;
  for (; t + UNROLL <= T; t += UNROLL) {
    LSTM_STEP(t);
    LSTM_STEP(t + 1);
    LSTM_STEP(t + 2);
    LSTM_STEP(t + 3);
  }
  for (; t < T; ++t) LSTM_STEP(t);
}

#define DISPATCH(SIZE)                                                        \
  case SIZE:                                                                  \
    lstm_unrolled<SIZE><<<B, SIZE, 0, stream>>>(xg, wt, y, T, B);             \
    break

extern "C" int lstm(const float* xg, const float* wt, float* y, int T, int B, int H, cudaStream_t stream) {
  switch (H) {
    DISPATCH(128);
    DISPATCH(256);
    DISPATCH(512);
    default:
      return 1;
  }
  return 0;
}
