#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

void tile(const float* a, const float* b, float* c, long n, long i0, long j0, long k0, long block) {
  for (long i = i0; i < i0 + block; ++i)
    for (long k = k0; k < k0 + block; ++k) {
      const float v = a[i * n + k];
#pragma omp simd
      for (long j = j0; j < j0 + block; ++j) c[i * n + j] += v * b[k * n + j];
    }
}

}  // namespace

KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {
  const auto* in = args->inputs.items[0];
  const float* x = static_cast<const float*>(in->data);
  float* y = static_cast<float*>(args->outputs.items[0]->data);
  const long n = in->shape[2], block = 8;
  const long groups = static_cast<long>(in->element_count) / (n * n);
  for (long e = 0; e < static_cast<long>(in->element_count); ++e) y[e] = 0;
#pragma omp parallel for
  for (long g = 0; g < groups; ++g)
    for (long i = 0; i < n; i += block)
      for (long j = 0; j < n; j += block)
        for (long k = 0; k < n; k += block) tile(x + g * n * n, x + g * n * n, y + g * n * n, n, i, j, k, block);
  return 0;
}
