// Sound kernels, with their own checks: each function returns the number of wrong values, or -1 for a failed call.
#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <vector>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define CHECK(call)                      \
  do {                                   \
    if ((call) != hipSuccess) return -1; \
  } while (0)

namespace cg = cooperative_groups;

template <class T>
class Buffer {
 public:
  explicit Buffer(const std::vector<T>& values) : Buffer(values.size()) {
    (void)hipMemcpy(data_, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice);
  }
  explicit Buffer(std::size_t size) : size_(size) { (void)hipMalloc(&data_, size * sizeof(T)); }
  Buffer(const Buffer&) = delete;
  ~Buffer() { (void)hipFree(data_); }
  operator T*() { return data_; }
  std::vector<T> read() const {
    std::vector<T> values(size_);
    (void)hipMemcpy(values.data(), data_, size_ * sizeof(T), hipMemcpyDeviceToHost);
    return values;
  }

 private:
  T* data_ = nullptr;
  std::size_t size_;
};

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(static_cast<int>(i * 37 % 101) - 50) / 16.0f;
  return values;
}
int far_apart(const std::vector<float>& values, const std::vector<float>& expected, float tolerance) {
  int wrong = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    wrong += std::fabs(values[i] - expected[i]) <= tolerance * (1 + std::fabs(expected[i])) ? 0 : 1;
  return wrong;
}

// ---- Elements ----
__global__ void __launch_bounds__(256) add(const float* __restrict__ a, const float* __restrict__ b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
EXPORT int vector_add() {
  const int n = 1000;
  const auto x = numbers(n);
  Buffer<float> a(x), b(x), c(n);
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  add<<<(n + 255) / 256, 256, 0, stream>>>(a, b, c, n);
  CHECK(hipGetLastError());
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipStreamDestroy(stream));
  auto expected = x;
  for (auto& value : expected) value *= 2;
  return far_apart(c.read(), expected, 0);
}

// ---- LDS ----
template <int Threads>
__global__ void __attribute__((amdgpu_waves_per_eu(1, 4), amdgpu_flat_work_group_size(64, 1024))) reduce(const float* x, float* out, int n) {
  __shared__ float s[Threads];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * Threads + t; i < n; i += gridDim.x * Threads) sum += x[i];
  s[t] = sum;
  __syncthreads();
  for (int k = Threads / 2; k > 0; k >>= 1) {
    if (t < k) s[t] += s[t + k];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
EXPORT int lds_reduction() {
  const int n = 3000;
  const auto x = numbers(n);
  Buffer<float> in(x), out(3);
  // Several launches: the threads of each begin in another order.
  int wrong = 0;
  for (int launch = 0; launch < 6; ++launch) {
    reduce<256><<<3, 256>>>(in, out, n);
    const auto sums = out.read();
    float sum = 0;
    for (const float value : x) sum += value;
    wrong += far_apart({sums[0] + sums[1] + sums[2]}, {sum}, 1e-5f);
  }
  return wrong;
}

constexpr int k_tile = 16;
__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float sa[k_tile][k_tile + 1], sb[k_tile][k_tile + 1];
  const int row = blockIdx.y * k_tile + threadIdx.y, column = blockIdx.x * k_tile + threadIdx.x;
  float sum = 0;
  for (int at = 0; at < k; at += k_tile) {
    sa[threadIdx.y][threadIdx.x] = row < m && at + (int)threadIdx.x < k ? a[row * k + at + threadIdx.x] : 0.0f;
    sb[threadIdx.y][threadIdx.x] = column < n && at + (int)threadIdx.y < k ? b[(at + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int j = 0; j < k_tile; ++j) sum = fmaf(sa[threadIdx.y][j], sb[j][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
EXPORT int tiled_matmul() {
  const int m = 37, n = 50, k = 41;
  const auto x = numbers(m * k), y = numbers(k * n);
  Buffer<float> a(x), b(y), c(m * n);
  matmul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(k_tile, k_tile)>>>(a, b, c, m, n, k);
  std::vector<float> expected(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j)
      for (int l = 0; l < k; ++l) expected[i * n + j] += x[i * k + l] * y[l * n + j];
  return far_apart(c.read(), expected, 1e-4f);
}

__global__ void reverse(const float* x, float* out) {
  extern __shared__ __align__(16) unsigned char bytes[];
  float* s = reinterpret_cast<float*>(bytes);
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}
EXPORT int dynamic_lds() {
  const auto x = numbers(200);
  Buffer<float> in(x), out(200);
  reverse<<<1, 200, 200 * sizeof(float)>>>(in, out);
  return far_apart(out.read(), {x.rbegin(), x.rend()}, 0);
}

// ---- Lanes ----
__device__ __forceinline__ float sum_of_wave(float value) {
  for (int offset = warpSize / 2; offset > 0; offset >>= 1) value += __shfl_xor(value, offset);
  return value;
}
__device__ float sum_not_inline(float value) {
  for (int offset = 1; offset < warpSize; offset <<= 1) value += __shfl_down(value, offset) * 0 + __shfl_xor(value, offset);
  return value;
}
__global__ void block_sum(const float* x, float* out, int n) {
  __shared__ float partial[1024 / warpSize];
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
  float value = sum_of_wave((int)threadIdx.x < n ? x[threadIdx.x] : 0.0f);
  if (lane == 0) partial[wave] = value;
  __syncthreads();
  if (wave == 0) {
    value = lane < (int)blockDim.x / warpSize ? partial[lane] : 0.0f;
    value = sum_not_inline(value);
    if (lane == 0) *out = value;
  }
}
EXPORT int shuffles() {
  const int n = 500;
  const auto x = numbers(n);
  Buffer<float> in(x), out(1);
  block_sum<<<1, 512>>>(in, out, n);
  float sum = 0;
  for (const float value : x) sum += value;
  return far_apart(out.read(), {sum}, 1e-5f);
}

__global__ void exchanges(int* out) {
  const int lane = threadIdx.x;
  int* mine = out + lane * 8;
  mine[0] = __shfl(lane, 5);
  mine[1] = __shfl(lane, 3, 16);
  mine[2] = __shfl_up(lane, 2);
  mine[3] = __shfl_down(lane, 3, 32);
  mine[4] = __shfl_xor(lane, 1);
  const unsigned long long odd = __ballot(lane & 1);
  mine[5] = __popcll(odd);
  mine[6] = __any(lane == 7) + 2 * __all(lane >= 0) + 4 * __all(lane == 0);
  mine[7] = static_cast<int>(__lane_id());
}
EXPORT int lanes() {
  Buffer<int> out(warpSize * 8);
  exchanges<<<1, warpSize>>>(out);
  const auto found = out.read();
  int wrong = 0;
  for (int lane = 0; lane < warpSize; ++lane) {
    const int expected[8] = {5,
                             lane / 16 * 16 + 3,
                             lane < 2 ? lane : lane - 2,
                             lane % 32 + 3 >= 32 ? lane : lane + 3,
                             lane ^ 1,
                             warpSize / 2,
                             3,
                             lane};
    for (int i = 0; i < 8; ++i) wrong += found[lane * 8 + i] == expected[i] ? 0 : 1;
  }
  return wrong;
}
EXPORT int wave_size() { return warpSize; }

// Lanes in a branch, in a loop of different lengths, and together again behind it.
__global__ void diverge(int* out) {
  const int lane = threadIdx.x;
  int value = lane;
  if (lane < 16) {
    value = __popcll(__ballot(1));
  } else if (lane < 24) {
    value = 100 + __popcll(__activemask());
  }
  int rounds = 0;
  for (int i = 0; i < lane % 4; ++i) rounds += __popcll(__ballot(1));
  out[lane] = value + 1000 * rounds;
  out[warpSize + lane] = __popcll(__ballot(1));
}
EXPORT int divergence() {
  Buffer<int> out(2 * warpSize);
  diverge<<<1, warpSize>>>(out);
  const auto found = out.read();
  int wrong = 0;
  for (int lane = 0; lane < warpSize; ++lane) {
    const int value = lane < 16 ? 16 : lane < 24 ? 108 : lane;
    int rounds = 0;
    for (int i = 0; i < lane % 4; ++i) rounds += warpSize / 4 * (3 - i);
    wrong += found[lane] == value + 1000 * rounds ? 0 : 1;
    wrong += found[warpSize + lane] == warpSize ? 0 : 1;
  }
  return wrong;
}

// What a lane gets follows from AMD's ISA documents; every control moves data its own way.
__global__ void moves(int* out) {
  const int lane = threadIdx.x;
  int* mine = out + lane * 13;
  const auto dpp = [&](auto control) { return __builtin_amdgcn_update_dpp(-7, lane, decltype(control)::value, 0xf, 0xf, false); };
  mine[0] = dpp(std::integral_constant<int, 0x1b>());   // quad_perm:[3,2,1,0]
  mine[1] = dpp(std::integral_constant<int, 0x102>());  // row_shl:2
  mine[2] = dpp(std::integral_constant<int, 0x113>());  // row_shr:3
  mine[3] = dpp(std::integral_constant<int, 0x121>());  // row_ror:1
  mine[4] = dpp(std::integral_constant<int, 0x140>());  // row_mirror
  mine[5] = dpp(std::integral_constant<int, 0x141>());  // row_half_mirror
  mine[6] = __builtin_amdgcn_update_dpp(-7, lane, 0x111, 0xf, 0xf, true);
  mine[7] = __builtin_amdgcn_update_dpp(-7, lane, 0x121, 0x2, 0xd, true);
  mine[8] = __builtin_amdgcn_ds_swizzle(lane, 0x041f);  // xor 1
  mine[9] = __builtin_amdgcn_ds_swizzle(lane, 0x801b);  // quad_perm:[3,2,1,0]
  mine[10] = __builtin_amdgcn_ds_permute((lane + 1) % warpSize * 4, lane);
  mine[11] = mine[12] = -7;
  if (warpSize == 64) {
#if !defined(__GFX10__)
    mine[11] = dpp(std::integral_constant<int, 0x142>());  // row_bcast:15
    mine[12] = dpp(std::integral_constant<int, 0x143>());  // row_bcast:31
#endif
  }
}
EXPORT int data_parallel_moves() {
  Buffer<int> out(warpSize * 13);
  moves<<<1, warpSize>>>(out);
  const auto found = out.read();
  int wrong = 0;
  for (int lane = 0; lane < warpSize; ++lane) {
    const int row = lane / 16 * 16, place = lane % 16;
    const bool written = row == 16 && place / 4 != 1;
    const int expected[13] = {lane / 4 * 4 + 3 - lane % 4,
                              place + 2 < 16 ? lane + 2 : -7,
                              place >= 3 ? lane - 3 : -7,
                              place == 0 ? lane + 15 : lane - 1,
                              row + 15 - place,
                              lane / 8 * 8 + 7 - lane % 8,
                              place == 0 ? 0 : lane - 1,
                              !written ? -7 : place == 0 ? lane + 15 : lane - 1,
                              lane ^ 1,
                              lane / 4 * 4 + 3 - lane % 4,
                              (lane + warpSize - 1) % warpSize,
                              warpSize == 64 && lane >= 16 ? row - 1 : -7,
                              warpSize == 64 && lane >= 32 ? 31 : -7};
    for (int i = 0; i < 13; ++i) wrong += found[lane * 13 + i] == expected[i] ? 0 : 1;
  }
  return wrong;
}

__global__ void tiles(int* out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  int value = static_cast<int>(block.thread_rank());
  for (int offset = 4; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
  if (tile.thread_rank() == 0) out[tile.meta_group_rank()] = value;
  block.sync();
}
EXPORT int cooperative_tiles() {
  Buffer<int> out(16);
  tiles<<<1, 128>>>(out);
  const auto found = out.read();
  int wrong = 0;
  for (int i = 0; i < 16; ++i) wrong += found[i] == 8 * 8 * i + 28 ? 0 : 1;
  return wrong;
}

// ---- Atomics ----
__global__ void count(int* counts, float* sum, unsigned long long* most, const int* keys, int n) {
  __shared__ int local[8];
  if (threadIdx.x < 8) local[threadIdx.x] = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&local[keys[i]], 1);
    atomicAdd(sum, 0.5f);
    atomicMax(most, static_cast<unsigned long long>(i));
    __hip_atomic_fetch_add(&counts[8], 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  __syncthreads();
  if (threadIdx.x < 8) atomicAdd(&counts[threadIdx.x], local[threadIdx.x]);
}
EXPORT int atomics() {
  const int n = 5000;
  std::vector<int> keys(n);
  std::vector<float> expected(9);
  for (int i = 0; i < n; ++i) expected[keys[i] = i * i % 7 % 8] += 1;
  expected[8] = n;
  Buffer<int> key(keys), counts(9);
  Buffer<float> sum(1);
  Buffer<unsigned long long> most(1);
  CHECK(hipMemset(counts, 0, 9 * sizeof(int)));
  CHECK(hipMemset(sum, 0, sizeof(float)));
  CHECK(hipMemset(most, 0, 8));
  count<<<20, 256>>>(counts, sum, most, key, n);
  const auto found = counts.read();
  return far_apart({found.begin(), found.end()}, expected, 0) + far_apart(sum.read(), {n / 2.0f}, 0) +
         (most.read()[0] == n - 1 ? 0 : 1);
}

// ---- Numbers of 16 bits ----
__global__ void halves(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half a = __float2half(x[i]), b = __float2half(0.5f);
  const __half2 pair = __hfma2(__halves2half2(a, b), __float2half2_rn(2.0f), __floats2half2_rn(1.0f, 1.0f));
  out[4 * i] = __half2float(__hadd(a, b));
  out[4 * i + 1] = __low2float(pair);
  out[4 * i + 2] = __bfloat162float(__float2bfloat16(x[i]) * __float2bfloat16(2.0f));
  out[4 * i + 3] = static_cast<float>(hip_bfloat16(x[i]) + hip_bfloat16(1.0f));
}
EXPORT int sixteen_bits() {
  const auto x = numbers(100);
  Buffer<float> in(x), out(400);
  halves<<<1, 128>>>(in, out, 100);
  std::vector<float> expected;
  for (const float value : x) expected.insert(expected.end(), {value + 0.5f, 2 * value + 1, 2 * value, value + 1});
  // The values are multiples of 1/16 below 4: float16 has them all, bfloat16 rounds some.
  return far_apart(out.read(), expected, 8e-3f);
}

// ---- Symbols, launches by address, types of several values ----
__constant__ float factors[4];
__device__ int launches_seen = 0;
__global__ void scale(const float4* x, float4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) ++launches_seen;
  if (i < n) out[i] = x[i] * make_float4(factors[0], factors[1], factors[2], factors[3]);
}
EXPORT int symbols() {
  const auto x = numbers(400);
  const float given[4] = {1, 2, 3, 4};
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(factors), given, sizeof given));
  Buffer<float> in(x), out(400);
  hipLaunchKernelGGL(scale, dim3(1), dim3(128), 0, nullptr, reinterpret_cast<float4*>(static_cast<float*>(in)),
                     reinterpret_cast<float4*>(static_cast<float*>(out)), 100);
  int seen = 0;
  CHECK(hipMemcpyFromSymbol(&seen, HIP_SYMBOL(launches_seen), sizeof seen));
  auto expected = x;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= given[i % 4];
  return far_apart(out.read(), expected, 0) + (seen == 1 ? 0 : 1);
}

// ---- The whole grid ----
__global__ void recur(const float* weights, float* states, int units, int steps) {
  const cg::grid_group grid = cg::this_grid();
  __shared__ float own[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int t = 0; t < steps; ++t) {
    const float* now = states + t % 2 * units;
    float* next = states + (t + 1) % 2 * units;
    float sum = 0;
    for (int k = 0; i < units && k < units; ++k)
      sum += weights[i * units + k] * __hip_atomic_load(now + k, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    // The LDS of a block must be its own, also when other blocks run meanwhile.
    own[threadIdx.x] = tanhf(sum);
    grid.sync();
    if (i < units) __hip_atomic_store(next + i, own[threadIdx.x], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    grid.sync();
  }
}
// The same without a cooperative launch: blocks count each other.
__global__ void recur_counting(const float* weights, float* states, unsigned* arrived, int units, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int t = 0; t < steps; ++t) {
    const float* now = states + t % 2 * units;
    float sum = 0;
    for (int k = 0; i < units && k < units; ++k)
      sum += weights[i * units + k] * __hip_atomic_load(now + k, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if (i < units)
      __hip_atomic_store(states + (t + 1) % 2 * units + i, tanhf(sum), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(arrived, 1);
      while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) < gridDim.x * (t + 1))
        __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
  }
}
int check_recurrence(bool cooperative) {
  int units = 150, steps = 7;
  std::vector<float> w(units * units), state(2 * units, 0.0f);
  for (int i = 0; i < units * units; ++i) w[i] = static_cast<float>(i * 31 % 17 - 8) / 100.0f;
  for (int i = 0; i < units; ++i) state[i] = static_cast<float>(i % 5) / 5.0f;
  Buffer<float> weights(w), states(state);
  Buffer<unsigned> arrived(std::vector<unsigned>{0});
  float* weights_argument = weights;
  float* states_argument = states;
  int blocks = 0, processors = 0;
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, recur, 32, 0));
  CHECK(hipDeviceGetAttribute(&processors, hipDeviceAttributeMultiprocessorCount, 0));
  if (blocks * processors < 5) return -1;
  if (cooperative) {
    void* arguments[] = {&weights_argument, &states_argument, &units, &steps};
    CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(recur), dim3(5), dim3(32), arguments, 0, nullptr));
  } else {
    recur_counting<<<5, 32>>>(weights, states, arrived, units, steps);
  }
  std::vector<float> now(state.begin(), state.begin() + units);
  for (int t = 0; t < steps; ++t) {
    std::vector<float> next(units);
    for (int i = 0; i < units; ++i) {
      float sum = 0;
      for (int k = 0; k < units; ++k) sum += w[i * units + k] * now[k];
      next[i] = std::tanh(sum);
    }
    now = next;
  }
  const auto found = states.read();
  return far_apart({found.begin() + steps % 2 * units, found.begin() + steps % 2 * units + units}, now, 1e-4f);
}
EXPORT int grid_barrier() { return check_recurrence(true); }
EXPORT int blocks_that_count() { return check_recurrence(false); }

// ---- Votes of a block, vectors of the compiler, empty assembly ----
using floatx4 = __attribute__((ext_vector_type(4))) float;
#if defined(__FLT16_MAX__)
typedef _Float16 halfx2 __attribute__((ext_vector_type(2)));
#else
typedef float halfx2 __attribute__((ext_vector_type(2)));
#endif
__device__ __noinline__ floatx4 twice(floatx4 value) { return value + value; }
__global__ void votes(int* out) {
  asm volatile("" ::: "memory");
  const floatx4 doubled = twice(floatx4{1, 2, 3, 4});
  const halfx2 small = {1, 2};
  const int counted = __syncthreads_count(threadIdx.x % 3 == 0);
  const int all = __syncthreads_and(1), any = __syncthreads_or(threadIdx.x == 5);
  out[threadIdx.x] = counted + 1000 * all + 2000 * any + (int)doubled[3] + (int)small[1];
}
EXPORT int block_votes() {
  Buffer<int> out(90);
  votes<<<1, 90>>>(out);
  int wrong = 0;
  for (const int value : out.read()) wrong += value == 30 + 1000 + 2000 + 8 + 2 ? 0 : 1;
  return wrong;
}

// ---- Forms of declarations and launches ----
struct Parameters {
  const float* x;
  float* y;
  int n;
};
template <class T, int N>
struct Tile {
  T values[N];
};
template <class T, int Threads>
__global__ __launch_bounds__(Threads, 2) void declares(Parameters p, T factor) {
  __shared__ Tile<T, 4> tile;
  static __shared__ int flag;
  __shared__ float4 vector[8];
  __shared__ alignas(16) unsigned char bytes[64];
  volatile __shared__ float kept[4];
  if (threadIdx.x == 0) {
    flag = 1;
    tile.values[0] = factor;
    vector[0] = make_float4(1, 2, 3, 4);
    bytes[0] = 1;
    kept[0] = 2;
  }
  __syncthreads();
  for (int i = blockIdx.x * Threads + threadIdx.x; i < p.n; i += gridDim.x * Threads)
    p.y[i] = p.x[i] * tile.values[0] * flag + vector[0].x - bytes[0] + kept[0];
}
enum class Operation { Add, Multiply };
template <Operation O, class... More>
__global__ void apply(float* y, const float* x, size_t n) {
  const size_t i = blockIdx.x * static_cast<size_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = O == Operation::Add ? x[i] + 2.0f : x[i] * max(2, 1.0f);
}
#define LAUNCH(kernel, blocks, threads, ...)                 \
  do {                                                       \
    kernel<<<blocks, threads, 0, nullptr>>>(__VA_ARGS__);    \
    if (hipGetLastError() != hipSuccess) return -1;          \
  } while (0)
EXPORT int forms() {
  const int n = 1000;
  const auto x = numbers(n);
  Buffer<float> in(x), out(n);
  declares<float, 128><<<dim3(4), dim3(128), 0, nullptr>>>(Parameters{in, out, n}, 2.0f);
  LAUNCH((apply<Operation::Multiply>), (n + 127) / 128, 128, out, out, n);
  auto pointer = &apply<Operation::Add>;
  pointer<<<(n + 127) >> 7, 128>>>(out, out, n);
  int blocks = 0;
  CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, declares<float, 128>, 128, 0));
  CHECK(hipFuncSetAttribute(reinterpret_cast<const void*>(&declares<float, 128>),
                            hipFuncAttributeMaxDynamicSharedMemorySize, 1024));
  auto expected = x;
  for (auto& value : expected) value = (value * 2 + 2) * 2 + 2;
  return far_apart(out.read(), expected, 0) + (blocks == 2 ? 0 : 1);
}
