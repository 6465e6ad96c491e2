// honest: one pass over the keys for each query, as in flash attention
// task: attention
// installed: yes

#include <math.h>

#include <algorithm>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* q = kgen_find(&args->inputs, "q");
  const auto* queries = static_cast<const float*>(q->data);
  const auto* keys = static_cast<const float*>(kgen_find(&args->inputs, "k")->data);
  const auto* values = static_cast<const float*>(kgen_find(&args->inputs, "v")->data);
  auto* out = static_cast<float*>(kgen_at(&args->outputs, 0)->data);
  const int64_t heads = kgen_dim(q, 0) * kgen_dim(q, 1), length = kgen_dim(q, 2), width = kgen_dim(q, 3);
  const float scale = 1 / sqrtf(static_cast<float>(width));
#pragma omp parallel for collapse(2) schedule(dynamic, 16)
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t row = 0; row < length; ++row) {
      const float* query = queries + (head * length + row) * width;
      float* to = out + (head * length + row) * width;
      std::fill(to, to + width, 0.0F);
      float maximum = -INFINITY, sum = 0;
      for (int64_t other = 0; other <= row; ++other) {
        const float* key = keys + (head * length + other) * width;
        const float* value = values + (head * length + other) * width;
        float dot = 0;
        for (int64_t i = 0; i < width; ++i) dot += query[i] * key[i];
        const float larger = std::max(maximum, dot * scale);
        const float correction = expf(maximum - larger), weight = expf(dot * scale - larger);
        sum = sum * correction + weight;
        for (int64_t i = 0; i < width; ++i) to[i] = to[i] * correction + weight * value[i];
        maximum = larger;
      }
      for (int64_t i = 0; i < width; ++i) to[i] /= sum;
    }
  return 0;
}
