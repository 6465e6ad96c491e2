#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {
  const auto* in = args->inputs.items[0];
  const float* x = static_cast<const float*>(in->data);
  float* y = static_cast<float*>(args->outputs.items[0]->data);
  const long width = in->shape[2];
  const long rows = static_cast<long>(in->element_count) / width;
  for (long row = 0; row < rows; ++row) {
    const float* from = x + row * width;
    float* to = y + row * width;
    float top = from[0], total = 0;
    for (long i = 1; i < width; ++i) top = std::max(top, from[i]);
    for (long i = 0; i < width; ++i) total += to[i] = std::exp(from[i] - top);
    for (long i = 0; i < width; ++i) to[i] /= total;
  }
  return 0;
}
