// expect: cxx.access
// tools: nvcc
#include <cuda_runtime.h>
#include <kernelgen/abi.h>
KGEN_EXPORT_ABI_VERSION

class LinearPlan {
  float* packed_ = nullptr;
  int rows_ = 0, cols_ = 0;

 public:
  LinearPlan(int rows, int cols) : rows_(rows), cols_(cols) { cudaMalloc(&packed_, sizeof(float) * rows * cols); }
  ~LinearPlan() { cudaFree(packed_); }
};

__global__ void matvec(const float* w, const float* x, float* y, int cols) {
  float s = 0.f;
  for (int i = 0; i < cols; ++i) s += w[(blockIdx.x * blockDim.x + threadIdx.x) * cols + i] * x[i];
  y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}

KGEN_API int kgen_prepare(const kgen_prepare_args* args, kgen_prepare_result* result) {
  const kgen_tensor* w = kgen_at(&args->parameters, 0);
  result->state = new LinearPlan((int)w->shape[0], (int)w->shape[1]);
  return 0;
}
KGEN_API int kgen_run(void* state, const kgen_run_args* args) {
  LinearPlan* plan = (LinearPlan*)state;
  matvec<<<plan->rows_ / 64, 64, 0, (cudaStream_t)args->stream>>>(plan->packed_, (const float*)kgen_at(&args->inputs, 0)->data, (float*)kgen_at(&args->outputs, 0)->data, plan->cols_);
  return 0;
}
KGEN_API void kgen_destroy(void* state) { delete (LinearPlan*)state; }
