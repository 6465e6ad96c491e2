#include <algorithm>
#include <cmath>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {
  const auto* in = args->inputs.items[0];
  const float* x = static_cast<const float*>(in->data);
  float* y = static_cast<float*>(args->outputs.items[0]->data);
  const long T = in->shape[0], B = in->shape[1], D = in->shape[2];
  for (long b = 0; b < B; ++b)
    for (long i = 0; i < T; ++i) {
      float m = -INFINITY, l = 0, o[64] = {};
      for (long j = 0; j < T; ++j) {
        float s = 0;
        for (long d = 0; d < D; ++d) s += x[(i * B + b) * D + d] * x[(j * B + b) * D + d];
        const float next = std::max(m, s);
        const float keep = std::exp(m - next), p = std::exp(s - next);
        l = l * keep + p;
        for (long d = 0; d < D; ++d) o[d] = o[d] * keep + p * x[(j * B + b) * D + d];
        m = next;
      }
      for (long d = 0; d < D; ++d) y[(i * B + b) * D + d] = o[d] / l;
    }
  return 0;
}
