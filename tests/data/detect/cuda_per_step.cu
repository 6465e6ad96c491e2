__global__ void gru_persistent(const float* x, const float* h, float* out, int n) {
  int j = threadIdx.x + blockIdx.x * blockDim.x;
  float sum = x[j];
  for (int k = 0; k < n; ++k) sum += h[k];
  out[j] = tanhf(sum);
}

static void one(const float* x, float*& now, float*& next, int n) {
  gru_persistent<<<n / 128, 128>>>(x, now, next, n);
  float* keep = now;
  now = next;
  next = keep;
}

extern "C" int kgen_run(void* state, const kgen_run_args* args) {
  float *a = nullptr, *b = nullptr;
  const float* x = nullptr;
  for (int t = 0; t < args->steps; ++t) {
    one(x + t * 256, a, b, 256);
  }
  return 0;
}
