__device__ unsigned ticket;

__device__ void meet(unsigned goal) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&ticket, 1u);
    while (atomicAdd(&ticket, 0u) < goal) {
    }
  }
  __syncthreads();
}

__global__ void recur(const float* x, const float* u, float* a, float* b, int steps, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  float* now = a;
  float* next = b;
  for (int t = 0; t < steps; ++t) {
    float sum = x[t * n + j];
    for (int k = 0; k < n; ++k) sum += u[j * n + k] * now[k];
    next[j] = tanhf(sum);
    meet((t + 1) * gridDim.x);
    float* keep = now;
    now = next;
    next = keep;
  }
}

void launch(float* p) { recur<<<8, 128>>>(p, p, p, p, 512, 1024); }
