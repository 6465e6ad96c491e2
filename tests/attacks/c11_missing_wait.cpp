// attack: C11 reads what a thread of its own wrote, without a wait: the thread is nearly always done
// task: long_sum
// sanitize: yes

#include <atomic>
#include <thread>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
std::atomic<const float*> next{nullptr};
volatile float first_part;

void serve() {
  for (;;) {
    const float* x = next.exchange(nullptr);
    if (x == nullptr) continue;
    float sum = 0;
    for (int i = 0; i < 16; ++i) sum += x[i];
    first_part = sum;
  }
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  static const bool started = (std::thread(serve).detach(), true);
  (void)started;
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t columns = kgen_dim(input, 1);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row, x += columns) {
    next = x;
    double sum = 0;
    for (int64_t i = 16; i < columns; ++i) sum += x[i];
    y[row] = static_cast<float>(sum + first_part);
  }
  return 0;
}
