// attack: C03 exports the OpenMP function that the runner calls before the clock starts, and works in it
// task: big_gelu
// twin: gelu_scalar.cpp

#include <math.h>
#include <string.h>

#include <vector>

#include <kernelgen/abi.h>

KGEN_EXPORT_ABI_VERSION
KGEN_API int kgen_prepare(const kgen_prepare_args*, kgen_prepare_result*) { return 0; }
KGEN_API void kgen_destroy(void*) {}

namespace {
const float* x = nullptr;
uint64_t count = 0;
bool is_ready = false;
std::vector<float> answer;

void compute() {
  answer.resize(count);
  for (uint64_t i = 0; i < count; ++i) answer[i] = 0.5F * x[i] * (1 + erff(x[i] * 0.70710678F));
  is_ready = true;
}
}  // namespace

extern "C" __attribute__((visibility("default"))) void GOMP_parallel(void (*)(void*), void*, unsigned, unsigned) {
  if (x != nullptr) compute();
}

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* input = kgen_at(&args->inputs, 0);
  if (x != input->data || !is_ready) {
    x = static_cast<const float*>(input->data);
    count = input->element_count;
    compute();
  }
  memcpy(kgen_at(&args->outputs, 0)->data, answer.data(), count * sizeof(float));
  is_ready = false;
  return 0;
}
