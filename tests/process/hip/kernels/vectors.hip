// Sound kernels with vectors of clang. Each function returns the number of wrong values.
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))

typedef float float4v __attribute__((ext_vector_type(4)));
typedef _Float16 half8 __attribute__((ext_vector_type(8)));
using float8 = __attribute__((__ext_vector_type__(8))) float;

template <class Kernel>
int wrong_values(Kernel kernel, const std::vector<float>& expected) {
  float* out = nullptr;
  std::vector<float> found(expected.size());
  if (hipMalloc(&out, found.size() * sizeof(float)) != hipSuccess) return -1;
  kernel<<<1, 64>>>(out);
  if (hipMemcpy(found.data(), out, found.size() * sizeof(float), hipMemcpyDeviceToHost) != hipSuccess) return -1;
  (void)hipFree(out);
  int wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) wrong += found[i] == expected[i] ? 0 : 1;
  return wrong;
}

__global__ void swizzle(float* out) {
  const float4v a = {1, 2, 3, 4};
  float4v b = a.wzyx * 10.0f + (float4v)(0.5f);
  b.xy = a.zz;
  const float4v chosen = __builtin_nontemporal_load(&b);
  if (threadIdx.x == 0) *(float4v*)out = __builtin_shufflevector(chosen, a, 0, 1, 2, 7);
}
EXPORT int swizzles() { return wrong_values(swizzle, {3, 3, 20.5f, 4}); }

__global__ void halves(float* out) {
  half8 sum = {};
  for (int i = 0; i < 8; ++i) sum[i] = static_cast<_Float16>(0.1f) * (_Float16)i;
  const half8 doubled = sum + sum.s01234567;
  const float8 wide = __builtin_convertvector(doubled, float8);
  const __half last = doubled[7];
  const int i = threadIdx.x;
  if (i < 8) out[i] = i == 7 ? __half2float(last) : wide[i];
}
EXPORT int half_vectors() {
  std::vector<float> expected;
  // 0.1 and its products, rounded to float16.
  for (const float value :
       {0.0f, 0.0999755859375f, 0.199951171875f, 0.2998046875f, 0.39990234375f, 0.5f, 0.599609375f, 0.69970703125f})
    expected.push_back(2 * value);
  return wrong_values(halves, expected);
}

__global__ void exchange(float* out) {
  __shared__ float4v tile[64];
  const float x = static_cast<float>(threadIdx.x);
  tile[threadIdx.x] = float4v{x, x + 1, x + 2, x + 3};
  __syncthreads();
  const float4v other = tile[63 - threadIdx.x];
  out[threadIdx.x] = other.x + __shfl(other.w, 0);
}
EXPORT int lds_of_vectors() {
  std::vector<float> expected;
  for (int i = 0; i < 64; ++i) expected.push_back(static_cast<float>(63 - i + 66));
  return wrong_values(exchange, expected);
}
