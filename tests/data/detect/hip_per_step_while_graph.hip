#include <hip/hip_runtime.h>
__global__ void cell(float* h, const float* x, const float* w, float* tmp, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x; float a = x[i];
  for (int k = 0; k < n; ++k) a += w[i * n + k] * h[k];
  tmp[i] = tanhf(a);
}
struct Rnn { float *h, *tmp, *w; hipStream_t s; };
static void forward(Rnn& r, const float* x, int T, int n) {
  int t = 0;
  while (t < T) {
    cell<<<n / 64, 64, 0, r.s>>>(r.h, x + t++ * n, r.w, r.tmp, n);
    (void)hipMemcpyAsync(r.h, r.tmp, n * sizeof(float), hipMemcpyDeviceToDevice, r.s);
  }
}
extern "C" int kgen_run(void* state, const void*) { forward(*static_cast<Rnn*>(state), nullptr, 100, 512); return 0; }
