#include <hip/hip_cooperative_groups.h>
#include <hip/hip_runtime.h>
namespace coop = cooperative_groups;

__global__ void __launch_bounds__(256) lstm(const float* gates, const float* u, float* h, float* y, int steps, int n) {
  coop::grid_group all = coop::this_grid();
  const int unit = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
  float cell = 0.f;
  for (int t = 0; t < steps; ++t) {
    const float* prev = h + (t & 1) * n;
    float* next = h + ((t & 1) ^ 1) * n;
    float z[4];
#pragma unroll
    for (int g = 0; g < 4; ++g) {
      z[g] = gates[(t * 4 + g) * n + unit];
      for (int k = 0; k < n; ++k) z[g] += u[(g * n + unit) * n + k] * prev[k];
    }
    cell = cell / (1.f + __expf(-z[1])) + tanhf(z[2]) / (1.f + __expf(-z[0]));
    const float value = tanhf(cell) / (1.f + __expf(-z[3]));
    next[unit] = value;
    y[t * n + unit] = value;
    all.sync();
  }
}

extern "C" int kgen_run(void* state, const void* arguments) {
  void* args[6] = {};
  return hipLaunchCooperativeKernel(lstm, dim3(64), dim3(256), args, 0, hipStreamDefault);
}
