__global__ void recur(const float* x, const float* u, float* h, int steps, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  for (int t = 0; t < steps; ++t) {
    float sum = x[t * n + j];
    for (int k = 0; k < n; ++k) sum += u[j * n + k] * h[k];
    h[j] = tanhf(sum);
    __syncthreads();
  }
}

extern "C" int kgen_run(void* state, const kgen_run_args* args) {
  recur<<<8, 128>>>(nullptr, nullptr, nullptr, 512, 1024);
  return 0;
}
