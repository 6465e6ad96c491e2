#include <cuda_runtime.h>

constexpr int RADIX_BITS = 4;
constexpr int BUCKETS = 1 << RADIX_BITS;

__global__ void histogram(const unsigned* __restrict__ keys, unsigned* __restrict__ counts, int n, int shift) {
  __shared__ unsigned local[BUCKETS];
  if (threadIdx.x < BUCKETS) local[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&local[(keys[i] >> shift) & (BUCKETS - 1)], 1u);
  __syncthreads();
  if (threadIdx.x < BUCKETS) counts[threadIdx.x * gridDim.x + blockIdx.x] = local[threadIdx.x];
}

__global__ void exclusive_scan(unsigned* counts, int n) {
  __shared__ unsigned buffer[1024];
  const int i = threadIdx.x;
  unsigned v = i < n ? counts[i] : 0;
  buffer[i] = v;
  __syncthreads();
  for (int d = 1; d < 1024; d <<= 1) {
    const unsigned add = i >= d ? buffer[i - d] : 0;
    __syncthreads();
    buffer[i] += add;
    __syncthreads();
  }
  if (i < n) counts[i] = buffer[i] - v;
}

__global__ void scatter(const unsigned* __restrict__ in, unsigned* __restrict__ out, const unsigned* __restrict__ offsets,
                        int n, int shift) {
  __shared__ unsigned keys[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  keys[threadIdx.x] = i < n ? in[i] : 0xffffffffu;
  __syncthreads();
  const unsigned key = keys[threadIdx.x];
  const unsigned bucket = (key >> shift) & (BUCKETS - 1);
  unsigned rank = 0;
  for (unsigned j = 0; j < threadIdx.x; ++j) rank += ((keys[j] >> shift) & (BUCKETS - 1)) == bucket;
  if (i < n) out[offsets[bucket * gridDim.x + blockIdx.x] + rank] = key;
}

void radix_sort(unsigned* a, unsigned* b, unsigned* counts, int n, cudaStream_t stream) {
  const int blocks = (n + 255) / 256;
  unsigned* src = a;
  unsigned* dst = b;
  for (int shift = 0; shift < 32; shift += RADIX_BITS) {
    histogram<<<blocks, 256, 0, stream>>>(src, counts, n, shift);
    exclusive_scan<<<1, 1024, 0, stream>>>(counts, blocks * BUCKETS);
    scatter<<<blocks, 256, 0, stream>>>(src, dst, counts, n, shift);
    unsigned* t = src;
    src = dst;
    dst = t;
  }
}
