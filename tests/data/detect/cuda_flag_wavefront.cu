#include <cuda/atomic>
template <int H>
__global__ void stack(const float* x, const float* wi, const float* wh, float* seq, unsigned* done, int T) {
  const int layer = blockIdx.x;
  const int j = threadIdx.x;
  __shared__ float prev[H], below[H];
  prev[j] = 0.f;
  __syncthreads();
  for (int t = 0; t < T; ++t) {
    if (layer > 0) {
      if (j == 0) {
        cuda::atomic_ref<unsigned, cuda::thread_scope_device> flag(done[layer - 1]);
        while (flag.load(cuda::memory_order_acquire) <= (unsigned)t) __nanosleep(32);
      }
      __syncthreads();
      below[j] = seq[((layer - 1) * T + t) * H + j];
    } else {
      below[j] = x[t * H + j];
    }
    __syncthreads();
    float a = 0.f;
    for (int k = 0; k < H; ++k) a += wi[(layer * H + j) * H + k] * below[k] + wh[(layer * H + j) * H + k] * prev[k];
    __syncthreads();
    prev[j] = tanhf(a);
    seq[(layer * T + t) * H + j] = prev[j];
    __threadfence();
    __syncthreads();
    if (j == 0) atomicAdd(&done[layer], 1u);
  }
}
void launch(const float* x, const float* wi, const float* wh, float* seq, unsigned* done, int T, int L) {
  stack<256><<<L, 256>>>(x, wi, wh, seq, done, T);
}
