#include <cuda_runtime.h>
#include <stdint.h>

#define THREADS 256
#define ROWS_PER_BLOCK 16

__device__ __forceinline__ int ld_acquire(const int* p) {
  int v;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}

__device__ __forceinline__ void st_release(int* p, int v) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

// flags[i] = number of steps that block i has finished
__global__ void __launch_bounds__(THREADS, 1)
elman_forward(const float* __restrict__ xw, const float* __restrict__ whh, float* __restrict__ hs, int* flags, int T,
              int N) {
  extern __shared__ float smem[];
  float* w_tile = smem;                    // ROWS_PER_BLOCK * N
  float* h_tile = smem + ROWS_PER_BLOCK * N;  // N
  const int row0 = blockIdx.x * ROWS_PER_BLOCK;
  for (int i = threadIdx.x; i < ROWS_PER_BLOCK * N; i += THREADS) w_tile[i] = whh[(size_t)row0 * N + i];
  __syncthreads();

  const int local = threadIdx.x / 16;
  const int part = threadIdx.x % 16;

  for (int t = 0; t < T; ++t) {
    // Wait for everybody's previous step.
    if (t > 0) {
      for (int b = threadIdx.x; b < gridDim.x; b += THREADS) {
        while (ld_acquire(&flags[b]) < t) {
          __nanosleep(20);
        }
      }
      __syncthreads();
      for (int k = threadIdx.x; k < N; k += THREADS) h_tile[k] = __ldcg(&hs[(size_t)(t - 1) * N + k]);
    } else {
      for (int k = threadIdx.x; k < N; k += THREADS) h_tile[k] = 0.0f;
    }
    __syncthreads();

    float sum = 0.0f;
    for (int k = part; k < N; k += 16) sum += w_tile[local * N + k] * h_tile[k];
    for (int off = 8; off > 0; off /= 2) sum += __shfl_down_sync(0xffffffff, sum, off, 16);
    if (part == 0) hs[(size_t)t * N + row0 + local] = tanhf(sum + xw[(size_t)t * N + row0 + local]);

    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) st_release(&flags[blockIdx.x], t + 1);
  }
}

extern "C" void elman(const float* xw, const float* whh, float* hs, int* flags, int T, int N, cudaStream_t stream) {
  cudaMemsetAsync(flags, 0, sizeof(int) * (N / ROWS_PER_BLOCK), stream);
  size_t bytes = (ROWS_PER_BLOCK * N + N) * sizeof(float);
  cudaFuncSetAttribute(elman_forward, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);
  elman_forward<<<N / ROWS_PER_BLOCK, THREADS, bytes, stream>>>(xw, whh, hs, flags, T, N);
}
