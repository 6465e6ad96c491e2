// honest: blocked for the caches, OpenMP over the blocks of rows
// task: matmul
// installed: yes

#include <string.h>

#include <algorithm>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* a = kgen_find(&args->inputs, "a");
  const kgen_tensor* b = kgen_find(&args->inputs, "b");
  const int64_t rows = kgen_dim(a, 0), depth = kgen_dim(a, 1), columns = kgen_dim(b, 1);
  const auto* left = static_cast<const float*>(a->data);
  const auto* right = static_cast<const float*>(b->data);
  auto* out = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  constexpr int64_t k_rows = 16, k_depth = 64;
#pragma omp parallel for schedule(dynamic)
  for (int64_t row = 0; row < rows; row += k_rows) {
    const int64_t last = std::min(rows, row + k_rows);
    memset(out + row * columns, 0, (last - row) * columns * sizeof(float));
    for (int64_t k = 0; k < depth; k += k_depth)
      for (int64_t i = row; i < last; ++i)
        for (int64_t inner = k; inner < std::min(depth, k + k_depth); ++inner) {
          const float factor = left[i * depth + inner];
          for (int64_t j = 0; j < columns; ++j) out[i * columns + j] += factor * right[inner * columns + j];
        }
  }
  return 0;
}
