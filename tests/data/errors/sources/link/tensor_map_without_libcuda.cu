// expect: link.undefined
// tools: nvcc
#include <cuda.h>
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

struct State { CUtensorMap map; };

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* w = kgen_at(&args->parameters, 0);
  State* s = new State;
  cuuint64_t dims[2] = {(cuuint64_t)w->shape[1], (cuuint64_t)w->shape[0]};
  cuuint64_t strides[1] = {dims[0] * 4};
  cuuint32_t box[2] = {32, 64};
  cuuint32_t elem[2] = {1, 1};
  if (cuTensorMapEncodeTiled(&s->map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, w->data, dims, strides, box, elem,
                             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    delete s;
    return kgen_fail(&args->error, "cuTensorMapEncodeTiled failed");
  }
  result->state = s;
  return 0;
}
KGEN_API int kgen_run(void*, const kgen_run_args*) { return 0; }
KGEN_API void kgen_destroy(void* s) { delete (State*)s; }
