#include <hip/hip_runtime.h>

// Exponential moving average along time. A wave takes 64 steps at once and hands the last value on.
__global__ void ema_rows(const float* __restrict__ x, float* __restrict__ y, float alpha, int rows, int length) {
  const int lane = threadIdx.x % 64;
  const int row = blockIdx.x * (blockDim.x / 64) + threadIdx.x / 64;
  if (row >= rows) return;
  const float keep = 1.f - alpha;
  const float* src = x + (size_t)row * length;
  float* dst = y + (size_t)row * length;
  float carry = src[0];
  for (int start = 0; start < length; start += 64) {
    const int t = start + lane;
    float value = t < length ? alpha * src[t] : 0.f;
    float power = keep;
#pragma unroll
    for (int off = 1; off < 64; off <<= 1) {
      const float other = __shfl_up(value, off);
      if (lane >= off) value += power * other;
      power *= power;
    }
    value += powf(keep, (float)(lane + 1)) * carry;
    if (t < length) dst[t] = value;
    carry = __shfl(value, 63);
  }
}

extern "C" int ema(const float* x, float* y, float alpha, int rows, int length, hipStream_t stream) {
  ema_rows<<<(rows + 3) / 4, 256, 0, stream>>>(x, y, alpha, rows, length);
  return hipGetLastError() == hipSuccess ? 0 : 1;
}
