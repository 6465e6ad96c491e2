#include <kernelgen/abi.h>
#include <math.h>
KGEN_EXPORT_ABI_VERSION
typedef struct { float h[64]; float c[64]; } lstm_state;
static inline float sg(float v) { return 1.0f / (1.0f + expf(-v)); }
static void advance(lstm_state* s, const float* x, float* y, int n) {
  for (int j = 0; j < n; ++j) {
    const float f = sg(x[j] + 0.1f * s->h[j]);
    s->c[j] = f * s->c[j] + (1.0f - f) * x[j];
    s->h[j] = tanhf(s->c[j]);
    y[j] = s->h[j];
  }
}
KGEN_API int kgen_run(void* state, const struct kgen_run_args* args) {
  const struct kgen_tensor* in = args->inputs.items[0];
  const float* x = (const float*)in->data;
  float* y = (float*)args->outputs.items[0]->data;
  const int T = (int)in->shape[0], B = (int)in->shape[1], H = (int)in->shape[2];
#pragma omp parallel for
  for (int b = 0; b < B; ++b) {
    lstm_state s;
    memset(&s, 0, sizeof s);
    for (int t = 0; t < T; ++t) advance(&s, x + (t * B + b) * H, y + (t * B + b) * H, H);
  }
  return 0;
}
