#include <cmath>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION
struct Moments {
  double mean = 0, m2 = 0;
  long n = 0;
  void add(double v) {
    ++n;
    const double d = v - mean;
    mean += d / n;
    m2 += d * (v - mean);
  }
};
KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {
  const auto* in = args->inputs.items[0];
  const float* x = static_cast<const float*>(in->data);
  float* y = static_cast<float*>(args->outputs.items[0]->data);
  const long w = in->shape[2], rows = static_cast<long>(in->element_count) / w;
  for (long r = 0; r < rows; ++r) {
    Moments m;
    for (long i = 0; i < w; ++i) m.add(x[r * w + i]);
    const double s = 1 / std::sqrt(m.m2 / m.n + 1e-5);
    for (long i = 0; i < w; ++i) y[r * w + i] = static_cast<float>((x[r * w + i] - m.mean) * s);
  }
  return 0;
}
