#include <functional>

__global__ void mix(const float* x, const float* h, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tanhf(x[i] + 0.5f * h[i]);
}

template <typename F>
void repeat(int count, F&& body) {
  for (int i = 0; i < count; ++i) body(i);
}

extern "C" int kgen_run(void* state, const void* args) {
  float *x = nullptr, *a = nullptr, *b = nullptr;
  const int n = 1 << 16;
  repeat(256, [&](int t) {
    mix<<<n / 256, 256>>>(x + t * n, a, b, n);
    std::swap(a, b);
  });
  return 0;
}
