// honest: blocks of 16 by 16
// task: transpose

#include <math.h>

#include <algorithm>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  const int64_t rows = kgen_dim(input, 0), columns = kgen_dim(input, 1);
  const auto* x = static_cast<const float*>(input->data);
  auto* y = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  for (int64_t row = 0; row < rows; row += 16)
    for (int64_t column = 0; column < columns; column += 16)
      for (int64_t i = row; i < std::min(rows, row + 16); ++i)
        for (int64_t j = column; j < std::min(columns, column + 16); ++j)
          y[j * rows + i] = 1 / (1 + expf(-x[i * columns + j]));
  return 0;
}
