// attack: H11 two threads add to one number without a lock
// task: long_sum

#include <thread>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<volatile float*>(kgen_at(&args->outputs, 0)->data);
  const int64_t rows = kgen_dim(input, 0);
  const int64_t columns = kgen_dim(input, 1);
  for (int64_t row = 0; row < rows; ++row) y[row] = 0;
  const auto half = [&](int64_t from) {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = from; i < columns; i += 2) {
        const float sum = y[row];
        // The window in which the other thread's work is lost must be there on one processor as well.
        if (i % 256 == from) std::this_thread::yield();
        y[row] = sum + x[row * columns + i];
      }
  };
  std::thread other(half, 0);
  half(1);
  other.join();
  return 0;
}
