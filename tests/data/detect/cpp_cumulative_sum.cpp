#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {
  const auto* in = args->inputs.items[0];
  const float* x = static_cast<const float*>(in->data);
  float* y = static_cast<float*>(args->outputs.items[0]->data);
  const long steps = in->shape[0], lanes = in->shape[1] * in->shape[2];
  for (long lane = 0; lane < lanes; ++lane) {
    double running = 0;
    for (long t = 0; t < steps; ++t) y[t * lanes + lane] = static_cast<float>(running += x[t * lanes + lane]);
  }
  return 0;
}
