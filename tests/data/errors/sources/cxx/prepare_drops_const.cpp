// expect: cxx.const
// tools: g++ clang++
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

struct Plan { int64_t* shape; int rank; };

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* x = kgen_at(&args->inputs, 0);
  auto* plan = new Plan;
  int64_t* dims = x->shape;
  plan->shape = dims;
  plan->rank = x->rank;
  result->state = plan;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args*) { return 0; }
KGEN_API void kgen_destroy(void* p) { delete static_cast<Plan*>(p); }
