// expect: cxx.incomplete
// tools: g++ clang++
#include <vector>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

struct AttentionState;

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* w = kgen_find(&args->parameters, "attn.in_proj_weight");
  if (w == nullptr) return kgen_fail(&args->error, "attn.in_proj_weight is missing");
  AttentionState* state = new AttentionState();
  result->state = state;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args*) { return 0; }

struct AttentionState {
  std::vector<float> wq, wk, wv;
  int64_t heads = 8;
};

KGEN_API void kgen_destroy(void* state) { delete static_cast<AttentionState*>(state); }
