// expect: cxx.ambiguous
// tools: g++ clang++
#include <algorithm>
#include <cmath>
#include <vector>
#include <kernelgen/abi.h>
using namespace std;
KGEN_EXPORT_ABI_VERSION

static int64_t count = 0;
static float data[1024];

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  (void)args;
  result->state = nullptr;
  result->workspace_bytes = 0;
  return 0;
}

KGEN_API void kgen_destroy(void* state) { (void)state; }

KGEN_API int kgen_run(void*, const kgen_run_args* args) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  count = (int64_t)x->element_count;
  for (int64_t i = 0; i < count; ++i) data[i % 1024] += ((const float*)x->data)[i];
  return 0;
}
