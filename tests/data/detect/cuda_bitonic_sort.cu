__global__ void sort_rows(float* x, int n) {
  extern __shared__ float key[];
  const int i = threadIdx.x;
  key[i] = x[blockIdx.x * n + i];
  for (int size = 2; size <= n; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int other = i ^ stride;
      if (other > i) {
        const bool up = (i & size) == 0;
        const float a = key[i], b = key[other];
        if ((a > b) == up) {
          key[i] = b;
          key[other] = a;
        }
      }
    }
  }
  __syncthreads();
  x[blockIdx.x * n + i] = key[i];
}

void run(float* x, int rows, int n) { sort_rows<<<rows, n, n * sizeof(float)>>>(x, n); }
