// honest: partial sums that OpenMP orders: dynamic loops, tasks, critical, atomic, sections, locks, barriers
// task: long_sum
// sanitize: yes

#include <omp.h>

#include <algorithm>
#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
constexpr int64_t k_part = 4096;

double sum_of(const float* x, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += x[i];
  return sum;
}

double with_critical(const float* x, int64_t parts) {
  double sum = 0;
#pragma omp parallel
  {
    double mine = 0;
#pragma omp for schedule(dynamic) nowait
    for (int64_t part = 0; part < parts; ++part) mine += sum_of(x + part * k_part, k_part);
#pragma omp critical
    sum += mine;
  }
  return sum;
}

double with_tasks(const float* x, int64_t parts) {
  std::vector<double> sums(static_cast<std::size_t>(parts));
  double sum = 0;
#pragma omp parallel
#pragma omp single
  {
    for (int64_t part = 0; part < parts; ++part) {
#pragma omp task firstprivate(part) shared(sums)
      sums[static_cast<std::size_t>(part)] = sum_of(x + part * k_part, k_part);
    }
#pragma omp taskwait
    for (const double one : sums) sum += one;
  }
  return sum;
}

double with_barriers(const float* x, int64_t parts) {
  std::vector<double> sums(static_cast<std::size_t>(parts)), pairs(static_cast<std::size_t>(parts));
  double sum = 0;
#pragma omp parallel
  {
#pragma omp for schedule(guided)
    for (int64_t part = 0; part < parts; ++part)
      sums[static_cast<std::size_t>(part)] = sum_of(x + part * k_part, k_part);
#pragma omp for
    for (int64_t part = 0; part < parts; ++part)
      pairs[static_cast<std::size_t>(part)] = sums[static_cast<std::size_t>(parts - 1 - part)];
#pragma omp barrier
#pragma omp sections
    {
#pragma omp section
      std::reverse(pairs.begin(), pairs.end());
#pragma omp section
      std::fill(sums.begin(), sums.end(), 0.0);
    }
#pragma omp for reduction(+ : sum)
    for (int64_t part = 0; part < parts; ++part) sum += pairs[static_cast<std::size_t>(part)];
  }
  return sum;
}

double with_locks(const float* x, int64_t parts) {
  double sum = 0, ordered = 0, atomic = 0;
  omp_lock_t lock;
  omp_init_lock(&lock);
#pragma omp parallel for schedule(static, 1) ordered
  for (int64_t part = 0; part < parts; ++part) {
    const double one = sum_of(x + part * k_part, k_part);
    omp_set_lock(&lock);
    sum += one;
    omp_unset_lock(&lock);
#pragma omp atomic
    atomic += one;
#pragma omp ordered
    ordered += one;
  }
  omp_destroy_lock(&lock);
  return (sum + ordered + atomic) / 3;
}
}  // namespace

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t columns = kgen_dim(input, 1), parts = columns / k_part;
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < kgen_dim(input, 0); ++row, x += columns) {
    const double rest = sum_of(x + parts * k_part, columns - parts * k_part);
    const double sum = with_critical(x, parts) + with_tasks(x, parts) + with_barriers(x, parts) + with_locks(x, parts);
    y[row] = static_cast<float>(sum / 4 + rest);
  }
  return 0;
}
