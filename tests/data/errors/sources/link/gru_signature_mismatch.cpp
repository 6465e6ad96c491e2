// expect: link.undefined
// tools: g++ clang++
#include <cmath>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

void gru_step(const float* gates, const float* h, float* out, int hidden);

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* h = kgen_find(&args->inputs, "h0");
  gru_step((const float*)kgen_find(&args->inputs, "x")->data, (const float*)h->data, (float*)kgen_find(&args->outputs, "output")->data, (int)kgen_dim(h, -1));
  return 0;
}

void gru_step(const float* gates, float* h, float* out, int64_t hidden) {
  for (int64_t j = 0; j < hidden; ++j) {
    const float z = 1.f / (1.f + std::exp(-gates[hidden + j]));
    out[j] = (1.f - z) * std::tanh(gates[2 * hidden + j]) + z * h[j];
  }
}
