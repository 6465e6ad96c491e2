struct Barrier {
  unsigned* count;
  unsigned* generation;
  __device__ void arrive_and_wait(unsigned blocks) {
    __syncthreads();
    if (threadIdx.x == 0) {
      const unsigned before = *reinterpret_cast<volatile unsigned*>(generation);
      __threadfence();
      if (atomicAdd(count, 1u) == blocks - 1) {
        *count = 0;
        __threadfence();
        atomicAdd(generation, 1u);
      } else {
        while (*reinterpret_cast<volatile unsigned*>(generation) == before) {
          __nanosleep(20);
        }
      }
    }
    __syncthreads();
  }
};

template <typename T>
__global__ void elman(const T* in, const T* rec, T* hidden, T* out, Barrier bar, int len, int width) {
  const int unit = blockIdx.x * blockDim.x + threadIdx.x;
  for (int s = 0; s != len; s++) {
    const T* prev = hidden + (s % 2) * width;
    T* next = hidden + ((s + 1) % 2) * width;
    T total = in[s * width + unit];
    for (int k = 0; k < width; k++) total += rec[unit * width + k] * __ldcg(prev + k);
    __stcg(next + unit, tanhf(total));
    out[s * width + unit] = tanhf(total);
    bar.arrive_and_wait(gridDim.x);
  }
}

int run(const float* in, const float* rec, float* hidden, float* out, Barrier bar, int len, int width) {
  void* args[] = {&in, &rec, &hidden, &out, &bar, &len, &width};
  auto status = cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&elman<float>), dim3(width / 128), dim3(128),
                                            args, 0, nullptr);
  return status == cudaSuccess ? 0 : 1;
}
