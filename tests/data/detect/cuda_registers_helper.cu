struct Pair { float h; float c; };

__device__ float squash(float v) { return 1.f / (1.f + expf(-v)); }

__device__ float cell(float x, float h, float u) {
  float z = squash(x + u * h);
  return (1.f - z) * h + z * tanhf(x);
}

extern "C" __global__ void diagonal(const float* x, const float* u, float* y, int steps, int n) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= n) return;
  float h = 0.f;
  const float w = u[j];
  int t = 0;
  do {
    h = cell(x[t * n + j], h, w);
    y[t * n + j] = h;
    ++t;
  } while (t < steps);
}

void launch(const float* x, const float* u, float* y) { diagonal<<<4, 64>>>(x, u, y, 512, 256); }
