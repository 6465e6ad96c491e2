__global__ void k(const float* x, const float* w, float* y, int T = 10, int N = 4) {
  float h = 0;
  for (int t = 0; t < T; ++t) {
    h = tanhf(w[threadIdx.x] * h + x[t]);
    y[t] = h;
  }
}
void run(const float* x, const float* w, float* y, int T) { k<<<4, 64>>>(x, w, y, T); }
