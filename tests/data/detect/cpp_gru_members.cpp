#include <cmath>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION

namespace {

class Gru {
 public:
  explicit Gru(long units) : units_(units), h_(units), next_(units) {}
  void step(const float* x, float* y) {
    for (long j = 0; j < units_; ++j) {
      float sum = x[j];
      for (long k = 0; k < units_; ++k) sum += 0.01f * static_cast<float>((j * 7 + k) % 5 - 2) * h_[k];
      const float z = 1.0f / (1.0f + std::exp(-sum));
      next_[j] = z * h_[j] + (1 - z) * std::tanh(x[j]);
    }
    h_.swap(next_);
    for (long j = 0; j < units_; ++j) y[j] = h_[j];
  }

 private:
  long units_;
  std::vector<float> h_, next_;
};

}  // namespace

KGEN_API int kgen_run(void*, const struct kgen_run_args* args) {
  const auto* in = args->inputs.items[0];
  const float* x = static_cast<const float*>(in->data);
  float* y = static_cast<float*>(args->outputs.items[0]->data);
  const long units = in->shape[2], rows = in->shape[1];
  for (long row = 0; row < rows; ++row) {
    Gru gru(units);
    for (long t = 0; t < in->shape[0]; ++t) gru.step(x + (t * rows + row) * units, y + (t * rows + row) * units);
  }
  return 0;
}
