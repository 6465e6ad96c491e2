__global__ void gemv(const float* w, const float* x, float* y, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  float acc = 0.f;
  for (int k = 0; k < n; ++k) acc += w[row * n + k] * x[k];
  y[row] = acc;
}

extern "C" int kgen_run(void* state, const void* args) {
  const float *w = nullptr, *x = nullptr;
  float* y = nullptr;
  const int batch = 128, n = 4096;
  for (int b = 0; b < batch; ++b) gemv<<<n / 128, 128>>>(w, x + b * n, y + b * n, n);
  return 0;
}
