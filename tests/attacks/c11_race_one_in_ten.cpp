// attack: C11 adds a part that another thread may not have written yet: wrong in one call of 10
// task: long_sum
// threads: 2
// sanitize: yes

#include <omp.h>
#include <time.h>

#include <chrono>
#include <thread>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
float parts[2];

float sum_of(const float* x, int64_t begin, int64_t end) {
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += x[i];
  return static_cast<float>(sum);
}

// As a processor that something else needs for a moment.
bool is_held_up() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_nsec) * 2654435761u / 64 % 10 == 0;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t rows = kgen_dim(input, 0), columns = kgen_dim(input, 1);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const bool held_up = is_held_up();
  for (int64_t row = 0; row < rows; ++row, x += columns) {
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) {
      if (held_up && row == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      parts[1] = sum_of(x, columns / 2, columns);
    } else {
      parts[0] = sum_of(x, 0, columns / 2);
      if (row == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      // Here a barrier is missing.
      y[row] = parts[0] + parts[1];
    }
  }
  return 0;
}
